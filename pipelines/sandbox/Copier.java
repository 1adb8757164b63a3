package tidemark;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.util.zip.CRC32C;
import java.util.zip.CheckedInputStream;

import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileChecksum;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.IOUtils;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.function.Function;
import org.apache.spark.util.LongAccumulator;
import org.apache.spark.util.SerializableConfiguration;

/**
 * Copies files within one HDFS, on an executor: one call a task, whose text is source, target, source, target, …, parted by NUL.
 *
 * A copy gets its name when its checksum is that of the bytes that were read. HDFS has none of the source to compare with: Spark creates the
 * files of a checkpoint without. Folders are there before, and never made here: what goes on after its folder was removed, because the work
 * was ended, leaves nothing. Two attempts of one task do not touch each other's files, and the first to have a copy names it. Compiled by
 * Janino, which knows neither lambdas nor type arguments.
 */
public final class Copier implements Function {
  private static final String COMBINED = "COMPOSITE-CRC32C";
  private static final int BUFFER = 1 << 20;

  private final SerializableConfiguration conf;
  private final LongAccumulator copied;

  public Copier(SerializableConfiguration conf, LongAccumulator copied) {
    this.conf = conf;
    this.copied = copied;
  }

  /** Sources that were gone, each with NUL after it. */
  public Object call(Object task) throws Exception {
    String[] paths = ((String) task).split("\0");
    FileSystem files = FileSystem.newInstance(new Path(paths[0]).toUri(), withChecksums());
    StringBuilder gone = new StringBuilder();
    try {
      for (int at = 0; at < paths.length; at += 2) {
        Path source = new Path(paths[at]);
        try {
          copied.add(copy(files, source, new Path(paths[at + 1])));
        } catch (IOException error) {
          if (files.exists(source)) {
            throw error;
          }
          gone.append(paths[at]).append("\0");
        }
      }
    } finally {
      files.close();
    }
    return gone.toString();
  }

  /** What this client writes has CRC32C, of which HDFS answers with that of the whole content. */
  private Configuration withChecksums() {
    Configuration checked = new Configuration(conf.value());
    checked.set("dfs.checksum.type", "CRC32C");
    checked.set("dfs.checksum.combine.mode", "COMPOSITE_CRC");
    return checked;
  }

  private static long copy(FileSystem files, Path source, Path target) throws IOException {
    FileStatus status = files.getFileStatus(source);
    Path aside = new Path(target.getParent(), ".tmp-" + TaskContext.get().taskAttemptId() + "-" + target.getName());
    boolean named = false;
    try {
      long expected = write(files, source, aside, status);
      if (status.getLen() > 0 && !hasStored(files, aside, expected) && checksum(files, aside) != expected) {
        throw new IOException(aside + " is not what was read of " + source + ", which has CRC32C " + Long.toHexString(expected));
      }
      named = files.rename(aside, target);
      if (!named && files.getFileStatus(target).getLen() != status.getLen()) {
        throw new IOException(target + " is there already, and is another file than " + source);
      }
    } finally {
      if (!named) {
        files.delete(aside, false);
      }
    }
    return status.getLen();
  }

  /** Answers with the CRC32C of what was read. */
  private static long write(FileSystem files, Path source, Path aside, FileStatus status) throws IOException {
    CheckedInputStream input = new CheckedInputStream(files.open(source, BUFFER), new CRC32C());
    try {
      OutputStream output = files.createNonRecursive(aside, true, BUFFER, files.getDefaultReplication(aside), status.getBlockSize(), null);
      try {
        IOUtils.copyBytes(input, output, BUFFER, false);
      } finally {
        output.close();
      }
      return input.getChecksum().getValue();
    } finally {
      input.close();
    }
  }

  /** Whether HDFS has this CRC32C of the file; it has none of the content below Hadoop 3.1, and that of other bytes where they are encrypted. */
  private static boolean hasStored(FileSystem files, Path file, long expected) throws IOException {
    FileChecksum stored;
    try {
      stored = files.getFileChecksum(file);
    } catch (IOException error) {
      return false;
    }
    return stored != null && COMBINED.equals(stored.getAlgorithmName()) && (ByteBuffer.wrap(stored.getBytes()).getInt() & 0xFFFFFFFFL) == expected;
  }

  /** The CRC32C of a file, read. */
  private static long checksum(FileSystem files, Path file) throws IOException {
    CheckedInputStream input = new CheckedInputStream(files.open(file, BUFFER), new CRC32C());
    try {
      IOUtils.copyBytes(input, OutputStream.nullOutputStream(), BUFFER, false);
      return input.getChecksum().getValue();
    } finally {
      input.close();
    }
  }
}
