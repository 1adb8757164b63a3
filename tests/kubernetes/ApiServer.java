import java.net.InetAddress;
import java.util.HashMap;

import io.fabric8.kubernetes.client.server.mock.KubernetesMixedDispatcher;
import io.fabric8.kubernetes.client.server.mock.KubernetesMockServer;
import io.fabric8.mockwebserver.Context;
import io.fabric8.mockwebserver.MockWebServer;

/** An API server of Kubernetes that keeps what it is sent and tells watchers of it, until its input ends. Says its address on its output. */
public class ApiServer {
    public static void main(String[] arguments) throws Exception {
        HashMap responses = new HashMap();
        KubernetesMockServer server = new KubernetesMockServer(
            new Context(), new MockWebServer(), responses, new KubernetesMixedDispatcher(responses), false);
        server.init(InetAddress.getByName("127.0.0.1"), 0);
        System.out.println("listening at " + server.url("/"));
        while (System.in.read() >= 0) {}
        server.destroy();
        System.exit(0);
    }
}
