// Names of marks on an axis of time: those that would overlap become one, so that each can be read.

const CHARACTER_PX = 5.9;
const GAP_PX = 8;
const BESIDE_PX = 3;

/** What stands for marks together: two versions by their names, more of them and everything else counted. */
export function together(marks) {
  const said = (kind) => [...new Set(marks.filter((mark) => (mark.kind === "version") === kind).map(({ text }) => text))];
  const versions = said(true);
  const counted = said(false).map((text) => {
    const times = marks.filter((mark) => mark.kind !== "version" && mark.text === text).length;
    return times > 1 ? `${times} ${text}s` : text;
  });
  return [...(versions.length > 2 ? [`${versions.length} versions`] : versions), ...counted].join(" · ");
}

/** To the right of the last of `marks`, or to the left of the first one where the axis ends; `from` and `to` are px on the axis. */
function box(marks, x, width) {
  const text = together(marks);
  const long = text.length * CHARACTER_PX;
  const [first, last] = [marks[0].at, marks.at(-1).at];
  const right = x(last) + BESIDE_PX;
  if (right + long <= width || x(first) < width - x(last)) return { text, at: last, side: "left", from: right, to: right + long, marks };
  const left = x(first) - BESIDE_PX;
  return { text, at: first, side: "right", from: left - long, to: left, marks };
}

/** The labels of `marks` (each `at`, `kind`, `text`) on an axis that is `width` px wide and shows `range`; no two of them overlap. */
export function placed(marks, range, width) {
  const [begin, end] = range;
  const x = (at) => ((at - begin) / (end - begin || 1)) * width;
  const boxes = [];
  for (const mark of marks.filter(({ at }) => at >= begin && at <= end).sort((a, b) => a.at - b.at)) {
    let next = box([mark], x, width);
    while (boxes.length && next.from < boxes.at(-1).to + GAP_PX) next = box([...boxes.pop().marks, ...next.marks], x, width);
    boxes.push(next);
  }
  return boxes;
}
