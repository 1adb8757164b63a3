import java.io.BufferedReader;
import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.util.EnumSet;
import java.util.Iterator;
import java.util.Map;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.crypto.key.KeyProvider;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hdfs.HdfsConfiguration;
import org.apache.hadoop.hdfs.MiniDFSCluster;
import org.apache.hadoop.hdfs.client.CreateEncryptionZoneFlag;
import org.apache.hadoop.hdfs.client.HdfsAdmin;
import org.apache.hadoop.hdfs.protocol.HdfsConstants.SafeModeAction;
import org.apache.hadoop.yarn.conf.YarnConfiguration;
import org.apache.hadoop.yarn.server.MiniYARNCluster;
import org.apache.hadoop.yarn.server.nodemanager.NodeManager;

/** Hadoop's own HDFS, its YARN, or one NodeManager more of that, in this process until its input ends:
`Daemons hdfs|yarn|node FOLDER CONF [key=value...]`. With `tests.nodes=0` a YARN has none of its own.

Writes the settings of its clients into the folder CONF, then says `ready` on its output. A line `safe` on the input of an HDFS puts it into
safe mode, in which nothing can be written, `back` ends that; `zone FOLDER` makes a folder whose files are encrypted, where the settings name
a file for keys. */
public class Daemons {
    public static void main(String[] arguments) throws Exception {
        Configuration settings = arguments[0].equals("hdfs") ? new HdfsConfiguration() : new YarnConfiguration();
        for (int at = 3; at < arguments.length; at++) {
            String[] setting = arguments[at].split("=", 2);
            settings.set(setting[0], setting[1]);
        }
        MiniDFSCluster hdfs = null;
        MiniYARNCluster yarn = null;
        NodeManager node = null;
        if (arguments[0].equals("hdfs")) {
            hdfs = hdfs(settings, arguments[1], arguments[2]);
        } else if (arguments[0].equals("yarn")) {
            yarn = yarn(settings, arguments[2]);
        } else {
            node = node(settings, arguments[1], arguments[2]);
        }
        System.out.println("ready");
        System.out.flush();
        BufferedReader words = new BufferedReader(new InputStreamReader(System.in));
        for (String word = words.readLine(); word != null; word = words.readLine()) {
            if (word.startsWith("zone ")) {
                encrypt(hdfs, settings, new Path(word.substring(5)));
                System.out.println(word);
                System.out.flush();
                continue;
            }
            SafeModeAction action = word.equals("safe") ? SafeModeAction.SAFEMODE_ENTER : SafeModeAction.SAFEMODE_LEAVE;
            hdfs.getNameNode().getRpcServer().setSafeMode(action, false);
            System.out.println(word);
            System.out.flush();
        }
        if (yarn != null) {
            yarn.stop(); // its containers are processes of their own
        }
        if (node != null) {
            node.stop();
        }
        Runtime.getRuntime().halt(0);
    }

    static MiniDFSCluster hdfs(Configuration settings, String folder, String conf) throws Exception {
        settings.set(MiniDFSCluster.HDFS_MINIDFS_BASEDIR, folder);
        MiniDFSCluster cluster = new MiniDFSCluster.Builder(settings).numDataNodes(1).format(true).build();
        cluster.waitActive();
        Configuration core = new Configuration(false);
        core.set("fs.defaultFS", cluster.getURI().toString());
        write(core, conf, "core-site.xml");
        Configuration site = new Configuration(false);
        InetSocketAddress web = cluster.getNameNode().getHttpAddress();
        site.set("dfs.namenode.http-address", web.getHostString() + ":" + web.getPort());
        site.set("dfs.replication", "1");
        write(site, conf, "hdfs-site.xml");
        return cluster;
    }

    static void encrypt(MiniDFSCluster hdfs, Configuration settings, Path folder) throws Exception {
        KeyProvider keys = hdfs.getNamesystem().getProvider();
        keys.createKey("tests", KeyProvider.options(settings));
        keys.flush();
        hdfs.getFileSystem().mkdirs(folder);
        new HdfsAdmin(hdfs.getURI(), settings).createEncryptionZone(folder, "tests", EnumSet.of(CreateEncryptionZoneFlag.NO_TRASH));
    }

    static MiniYARNCluster yarn(Configuration settings, String conf) throws Exception {
        MiniYARNCluster cluster = new MiniYARNCluster("tests", settings.getInt("tests.nodes", 1), 1, 1);
        cluster.init(settings);
        cluster.start();
        if (!cluster.waitForNodeManagersToConnect(120000L)) {
            throw new IOException("no node manager came");
        }
        Configuration running = new YarnConfiguration(cluster.getConfig());
        running.unset("net.topology.node.switch.mapping.impl");
        Configuration site = new Configuration(false);
        Iterator entries = running.iterator();
        while (entries.hasNext()) {
            Map.Entry entry = (Map.Entry) entries.next();
            String name = (String) entry.getKey();
            if (name.startsWith("yarn.")) {
                site.set(name, (String) entry.getValue());
            }
        }
        write(site, conf, "yarn-site.xml");
        return cluster;
    }

    static NodeManager node(Configuration settings, String folder, String conf) throws Exception {
        YarnConfiguration own = new YarnConfiguration(settings);
        own.addResource(new Path("file://" + conf + "/yarn-site.xml"));
        own.set("yarn.nodemanager.local-dirs", folder + "/local");
        own.set("yarn.nodemanager.log-dirs", folder + "/logs");
        for (String name : new String[] {"", "localizer.", "webapp.", "collector-service."}) {
            own.set("yarn.nodemanager." + name + "address", "localhost:0");
        }
        for (String name : new String[] {"memory-mb", "cpu-vcores"}) {
            own.set("yarn.nodemanager.resource." + name, settings.get("yarn.nodemanager.resource." + name));
        }
        NodeManager node = new NodeManager();
        node.init(own);
        node.start();
        return node;
    }

    static void write(Configuration settings, String folder, String name) throws Exception {
        OutputStream file = new FileOutputStream(new File(folder, name));
        try {
            settings.writeXml(file);
        } finally {
            file.close();
        }
    }
}
