package tidemark;

import java.util.Arrays;
import java.util.Base64;
import java.util.HashSet;
import java.util.Set;
import java.util.regex.Pattern;

import com.fasterxml.jackson.core.io.JsonStringEncoder;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.spark.Dependency;
import org.apache.spark.SparkContext;
import org.apache.spark.api.python.PythonBroadcast;
import org.apache.spark.api.python.PythonFunction;
import org.apache.spark.api.python.PythonRDD;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.rdd.MapPartitionsRDD;
import org.apache.spark.rdd.ParallelCollectionRDD;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.CurrentBatchTimestamp;
import org.apache.spark.sql.catalyst.expressions.CurrentTime;
import org.apache.spark.sql.catalyst.expressions.CurrentTimestampLike;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.Now;
import org.apache.spark.sql.catalyst.expressions.Rand;
import org.apache.spark.sql.catalyst.expressions.Randn;
import org.apache.spark.sql.catalyst.expressions.TimeZoneAwareExpression;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.plans.QueryPlan;
import org.apache.spark.sql.catalyst.trees.TreeNode;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.execution.columnar.InMemoryRelation;
import org.apache.spark.sql.execution.datasources.FileFormat;
import org.apache.spark.sql.execution.datasources.InMemoryFileIndex;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.Metadata;
import scala.Function1;
import scala.Option;
import scala.Product;
import scala.Tuple2;
import scala.collection.IterableOnce;
import scala.collection.Iterator;
import scala.runtime.AbstractPartialFunction;

/**
 * Writes a whole tree of Spark as JSON, so that Python (`forms.py`) reads it in one call: read argument by argument it is thousands.
 *
 * Spark's trees are case classes: `productElement` and `otherCopyArgs` are every argument of their constructors (TreeNode.toJSON rests on the
 * same). An object is a list that begins with its kind. What says where and in which run, or what the checkpoint or the batch decides, is left
 * out. Compiled by Janino, Spark's own compiler of generated code, which knows neither lambdas nor type arguments.
 */
public final class Trees {
  private static final String SPARK = "org.apache.spark.";
  private static final Set PLACES = words("stateInfo nodeId runId queryId checkpoint tag nonInheritableMetadataKeys qualifier origin");
  private static final Set NUMBERS = words("numPartitions numShufflePartitions advisoryPartitionSize batchTimestampMs");
  private static final Set LOGICAL = words("StreamingRelation StreamingRelationV2");
  private static final String RELATION = "StreamingRelationExec";
  private static final String OBSERVING = "CollectMetricsExec";
  private static final Set ZONED = words("CurrentDate LocalTimestamp LocalTimestampNanos");
  private static final Set WHOLE_IN_TEXT = words(
      "org.apache.spark.unsafe.types.UTF8String org.apache.spark.unsafe.types.CalendarInterval org.apache.spark.sql.types.Decimal");

  private static final Pattern OF_SPARK = Pattern.compile("\\] at (applySchemaToPythonRDD at |\\w+ at SerDeUtil\\.scala:)");

  public static final Trees READER = new Trees();

  private StringBuilder out;

  /** `value` with all that is below it. */
  public synchronized String written(Object value) {
    out = new StringBuilder();
    write(value);
    return out.toString();
  }

  /**
   * `plan` where the present time is that of a batch at `ms`, which the optimizer does not fold (MicroBatchExecution). What it would fold to the
   * time of this planning is a value that nobody knows.
   */
  public QueryPlan timed(QueryPlan plan, long ms) {
    return plan.transformAllExpressions(new Timed(ms));
  }

  private static final class Timed extends AbstractPartialFunction {
    private final long ms;

    Timed(long ms) {
      this.ms = ms;
    }

    public boolean isDefinedAt(Object value) {
      return value instanceof CurrentTimestampLike || ZONED.contains(value.getClass().getSimpleName()) || value instanceof CurrentTime;
    }

    public Object applyOrElse(Object value, Function1 other) {
      if (value instanceof Now || value instanceof CurrentTime) {
        return new BoundReference(0, ((Expression) value).dataType(), false);
      } else if (value instanceof CurrentTimestampLike) {
        return new CurrentBatchTimestamp(ms, ((Expression) value).dataType(), Option.apply("UTC"));
      } else if (ZONED.contains(value.getClass().getSimpleName())) {
        return new CurrentBatchTimestamp(ms, ((Expression) value).dataType(), ((TimeZoneAwareExpression) value).timeZoneId());
      }
      return other.apply(value);
    }
  }

  private static Set words(String text) {
    return new HashSet(Arrays.asList(text.split(" ")));
  }

  /** What is plain for py4j is plain here. */
  private void write(Object value) {
    if (value == null || value instanceof Boolean || value instanceof Integer || value instanceof Long || value instanceof Short || value instanceof Byte) {
      out.append(value);
    } else if (value instanceof String || value instanceof Character) {
      quote(value.toString());
    } else if (value instanceof Double || value instanceof Float) {
      tell("float", value.toString());
    } else if (value instanceof java.math.BigDecimal) {
      tell("decimal", value.toString());
    } else if (value instanceof byte[]) {
      tell("bytes", Base64.getEncoder().encodeToString((byte[]) value));
    } else if (value instanceof TreeNode) {
      writeNode((TreeNode) value);
    } else if (value instanceof PythonFunction) {
      writeFunction((PythonFunction) value);
    } else {
      writeValue(value, value.getClass().getName());
    }
  }

  private void writeValue(Object value, String name) {
    if (value instanceof DataType) {
      tell("type", ((DataType) value).json());
    } else if (name.endsWith("expressions.ExprId")) {
      tell("id", value.toString());
    } else if (value instanceof Metadata) {
      tell("metadata", ((Metadata) value).json());
    } else if (WHOLE_IN_TEXT.contains(name)) {
      open("text").append(',');
      quote(name);
      out.append(',');
      quote(value.toString());
      out.append(']');
    } else if (value instanceof Class) {
      tell("class", ((Class) value).getName());
    } else if (name.equals("scala.Enumeration$Val") || value instanceof Enum) {
      tell("enum", value.toString());
    } else if (value instanceof InMemoryFileIndex) {
      open("files").append(',');
      writeTexts(((InMemoryFileIndex) value).rootPaths());
      out.append(',').append(newest((InMemoryFileIndex) value)).append(']');
    } else if (value instanceof UnsafeRow) {
      tell("bytes", Base64.getEncoder().encodeToString(((UnsafeRow) value).getBytes()));
    } else if (value instanceof GenericInternalRow) {
      writeValues("row", (Object[]) ((GenericInternalRow) value).values());
    } else if (value instanceof GenericArrayData) {
      writeValues("array", ((GenericArrayData) value).array());
    } else if (value instanceof ArrayBasedMapData) {
      writeValues("pairs", new Object[] {((ArrayBasedMapData) value).keyArray(), ((ArrayBasedMapData) value).valueArray()});
    } else if (value instanceof RDD) {
      writeRows((RDD) value, name);
    } else if (name.equals("java.util.UUID")) {
      open("uuid").append(']');
    } else if (name.endsWith("$") && (name.startsWith(SPARK) || name.startsWith("scala."))) {
      tell("module", name);
    } else if (value instanceof scala.collection.Map) {
      writePairs((scala.collection.Map) value);
    } else if (value instanceof scala.collection.Iterable) {
      open("many").append(',');
      writeMany((IterableOnce) value);
      out.append(']');
    } else if (value instanceof SparkSession || (value instanceof FileFormat && name.startsWith(SPARK) && holdsNothing(value.getClass()))) {
      tell("module", name);
    } else if (value instanceof Product && (name.startsWith(SPARK) || name.startsWith("scala."))) {
      writeProduct((Product) value, name);
    } else {
      tell("other", name);
    }
  }

  private void writeNode(TreeNode node) {
    String name = node.getClass().getName();
    String shortName = name.substring(name.lastIndexOf('.') + 1);
    if (node instanceof InMemoryRelation) {
      InMemoryRelation cached = (InMemoryRelation) node;
      writeValues(name, new Object[] {cached.output(), cached.cacheBuilder().logicalPlan()});
      return;
    }
    if (LOGICAL.contains(shortName)) {
      tellOpen("leaf", name);
      writeColumns((QueryPlan) node);
    } else if (shortName.equals(OBSERVING)) {
      tellOpen("observed", name);
      write(node.children().head());
    } else {
      tellOpen("tree", name);
      writeArguments(node, (Product) node, shortName);
      out.append(',');
      writeOthers(node.otherCopyArgs().iterator(), shortName);
      if (shortName.equals(RELATION)) {
        out.append(',');
        writeColumns((QueryPlan) node);
      }
    }
    out.append(']');
  }

  /** Pairs of name and value. */
  private void writeArguments(TreeNode node, Product arguments, String shortName) {
    out.append('[');
    boolean isFirst = true;
    for (int at = 0; at < arguments.productArity(); at++) {
      String label = arguments.productElementName(at);
      if (!isLeftOut(node, shortName, label)) {
        out.append(isFirst ? "[" : ",[");
        isFirst = false;
        quote(label);
        out.append(',');
        write(arguments.productElement(at));
        out.append(']');
      }
    }
    out.append(']');
  }

  /**
   * Beside places and numbers: what `writeColumns` says of a leaf, a variable's value of the moment and its name, which PySpark numbers, the
   * name of a subquery, which is its number, and seeds, as Spark draws another for each batch (IncrementalExecution.optimizedPlan).
   */
  private static boolean isLeftOut(TreeNode node, String shortName, String label) {
    if (PLACES.contains(label) || NUMBERS.contains(label)) {
      return true;
    }
    if (shortName.equals(RELATION)) {
      return label.equals("sourceName") || label.equals("output");
    }
    if (shortName.equals("NamedLambdaVariable") && (label.equals("value") || label.equals("name"))) {
      return true;
    }
    if (label.equals("name") && shortName.startsWith("Subquery")) {
      return true;
    }
    return label.equals("randomSeed") || label.equals("seedExpression")
        || (label.equals("child") && (node instanceof Rand || node instanceof Randn));
  }

  /** The arguments of a second list, without qualifiers and other words about names: the ids and the metadata are what counts. */
  private void writeOthers(Iterator others, String shortName) {
    out.append('[');
    boolean isFirst = true;
    for (int at = 0; others.hasNext(); at++) {
      Object value = others.next();
      if (!isName(shortName, at, value)) {
        out.append(isFirst ? "" : ",");
        isFirst = false;
        write(value);
      }
    }
    out.append(']');
  }

  private static boolean isName(String shortName, int at, Object value) {
    if (shortName.equals("AttributeReference")) {
      return at > 0;
    }
    return shortName.equals("Alias") && (isPlain(value) || value instanceof scala.collection.Iterable);
  }

  private static boolean isPlain(Object value) {
    return value == null || value instanceof Boolean || value instanceof Number || value instanceof String || value instanceof Character
        || value instanceof byte[];
  }

  /** A leaf's columns: number of the id, name, id, type. */
  private void writeColumns(QueryPlan leaf) {
    out.append('[');
    Iterator columns = leaf.output().iterator();
    while (columns.hasNext()) {
      Attribute column = (Attribute) columns.next();
      out.append('[').append(column.exprId().id()).append(',');
      quote(column.name());
      out.append(',');
      write(column.exprId());
      out.append(',');
      quote(column.dataType().json());
      out.append(columns.hasNext() ? "]," : "]");
    }
    out.append(']');
  }

  /** Of each broadcast variable its number, and the file with its value; no file of one that is encrypted, or was destroyed. */
  private void writeFunction(PythonFunction function) {
    byte[] pickled = (byte[]) function.command().toArray(scala.reflect.ClassTag$.MODULE$.Byte());
    open("python").append(",[");
    for (java.util.Iterator each = function.broadcastVars().iterator(); each.hasNext(); ) {
      Broadcast variable = (Broadcast) each.next();
      Object value = variable.isValid() ? variable.value() : null;
      out.append('[').append(variable.id()).append(',');
      quote(value != null && value.getClass() == PythonBroadcast.class ? ((PythonBroadcast) value).path() : "");
      out.append(each.hasNext() ? "]," : "]");
    }
    out.append("],").append(function.pythonIncludes().size()).append(',');
    quote(Base64.getEncoder().encodeToString(pickled));
    out.append(']');
  }

  /** Rows that the code says (`createDataFrame` of a list): what was sent to the JVM, and the functions of Python's that they go through. */
  private void writeRows(RDD rdd, String name) {
    if (rdd instanceof ParallelCollectionRDD) {
      open("many").append(",[");
      for (int at = 0; at < rdd.partitions().length; at++) {
        out.append(at == 0 ? "" : ",");
        write(field(rdd.partitions()[at], scala.collection.immutable.Seq.class));
      }
      out.append("]]");
    } else if (rdd instanceof PythonRDD) {
      writeValues(name, new Object[] {field(rdd, PythonFunction.class), above(rdd)});
    } else if (rdd.getClass() == MapPartitionsRDD.class && OF_SPARK.matcher(rdd.toString()).find()) {
      writeValues(name, new Object[] {above(rdd)});
    } else {
      tell("other", name);
    }
  }

  /** Whether objects of a class have no fields of their own. */
  private static boolean holdsNothing(Class kind) {
    java.lang.reflect.Field[] fields = kind.getDeclaredFields();
    for (int at = 0; at < fields.length; at++) {
      if (!java.lang.reflect.Modifier.isStatic(fields[at].getModifiers()) && fields[at].getName().indexOf("Logging") < 0) {
        return false;
      }
    }
    return true;
  }

  private static Object above(RDD rdd) {
    return ((Dependency) rdd.dependencies().head()).rdd();
  }

  /** The field of `owner` that is of the class `kind`. */
  private static Object field(Object owner, Class kind) {
    java.lang.reflect.Field[] fields = owner.getClass().getDeclaredFields();
    for (int at = 0; at < fields.length; at++) {
      if (kind.isAssignableFrom(fields[at].getType())) {
        try {
          fields[at].setAccessible(true);
          return fields[at].get(owner);
        } catch (IllegalAccessException closed) {
          throw new IllegalStateException(closed);
        }
      }
    }
    throw new IllegalStateException(owner.getClass().getName());
  }

  private void writeProduct(Product product, String name) {
    tellOpen("product", name);
    out.append('[');
    for (int at = 0; at < product.productArity(); at++) {
      out.append(at == 0 ? "" : ",");
      write(product.productElement(at));
    }
    out.append("]]");
  }

  /** Values, each by its own class, of a thing of the kind `kind`. */
  private void writeValues(String kind, Object[] values) {
    tellOpen("product", kind);
    out.append('[');
    for (int at = 0; at < values.length; at++) {
      out.append(at == 0 ? "" : ",");
      write(values[at]);
    }
    out.append("]]");
  }

  private void writePairs(scala.collection.Map pairs) {
    open("map").append(",[");
    Iterator each = pairs.iterator();
    while (each.hasNext()) {
      Tuple2 pair = (Tuple2) each.next();
      out.append('[');
      write(pair._1());
      out.append(',');
      write(pair._2());
      out.append(each.hasNext() ? "]," : "]");
    }
    out.append("]]");
  }

  private void writeMany(IterableOnce many) {
    out.append('[');
    Iterator each = many.iterator();
    while (each.hasNext()) {
      write(each.next());
      out.append(each.hasNext() ? "," : "");
    }
    out.append(']');
  }

  private void writeTexts(IterableOnce many) {
    out.append('[');
    Iterator each = many.iterator();
    while (each.hasNext()) {
      quote(each.next().toString());
      out.append(each.hasNext() ? "," : "");
    }
    out.append(']');
  }

  /** When files that a batch reads were last changed, or one came or went (epoch ms); -1 where the file system does not say of a folder. */
  private static long newest(InMemoryFileIndex index) {
    Set folders = new HashSet();
    long newest = 0;
    for (Iterator files = index.allFiles().iterator(); files.hasNext(); ) {
      FileStatus file = (FileStatus) files.next();
      newest = Math.max(newest, file.getModificationTime());
      folders.add(file.getPath().getParent());
    }
    for (Iterator roots = index.rootPaths().iterator(); roots.hasNext(); ) {
      folders.add(roots.next());
    }
    for (java.util.Iterator each = folders.iterator(); each.hasNext(); ) {
      long changed = changed((Path) each.next());
      if (changed <= 0) {
        return -1;
      }
      newest = Math.max(newest, changed);
    }
    return newest;
  }

  private static long changed(Path folder) {
    try {
      return folder.getFileSystem(SparkContext.getOrCreate().hadoopConfiguration()).getFileStatus(folder).getModificationTime();
    } catch (java.io.IOException gone) {
      return -1;
    }
  }

  private StringBuilder open(String kind) {
    return out.append("[\"").append(kind).append('"');
  }

  private void tell(String kind, String text) {
    open(kind).append(',');
    quote(text);
    out.append(']');
  }

  private void tellOpen(String kind, String text) {
    open(kind).append(',');
    quote(text);
    out.append(',');
  }

  private void quote(String text) {
    out.append('"');
    JsonStringEncoder.getInstance().quoteAsString(text, out);
    out.append('"');
  }
}
