"""`python -m tests.catalog.csv_texts.write FOLDER` had Spark 4.3.0 write the files beside this one, one folder each."""

from __future__ import annotations

import sys

TEXTS = (
    "plain", r"a\b", r"a\b,c", 'a"b', r'a"b\c', '"q"', "q\\", "q,\\", 'q"\\', r"\"", r'\\"x', r"a\\b,c", r'{"k":"a\nb"}', "line\nx",
    "cr\rx", 'crlf\r\n"x', "", None, " lead", "trail ", ' "x" ', 'ünï"\\é', "\\", '"', '""', r"\,",
    'tab\t"', "#c", r"a\"b", r"\\", '""a', '"a"b"',
    '\u2028"\\x', r'a,\\"b',
)  # fmt: skip
OPTIONS: dict[str, dict[str, str]] = {
    "plain": {},
    "two_marks": {"escape": '"'},
    "all_quoted": {"quoteAll": "true"},
    "with_blanks": {"ignoreLeadingWhiteSpace": "false", "ignoreTrailingWhiteSpace": "false"},
}


def write(folder: str) -> None:
    from pyspark.sql import SparkSession

    spark = SparkSession.builder.master("local[1]").getOrCreate()
    for name, options in OPTIONS.items():
        rows = spark.createDataFrame(list(enumerate(TEXTS)), "i INT, t STRING").coalesce(1)
        rows.write.options(**options).csv(f"{folder}/{name}")


if __name__ == "__main__":
    write(sys.argv[1])
