// Names of marks on an axis of time: those that would overlap become one, so that each can be read.

const CHARACTER_PX = 5.9;
const GAP_PX = 8;
const BESIDE_PX = 3;

/** What stands for marks together: versions by their names, at most `named` of them, else counted as everything else is. */
export function together(marks, named = 2) {
  const said = (kind) => [...new Set(marks.filter((mark) => (mark.kind === "version") === kind).map(({ text }) => text))];
  const versions = said(true);
  const counted = said(false).map((text) => {
    const times = marks.filter((mark) => mark.kind !== "version" && mark.text === text).length;
    return times > 1 ? `${times} ${text}s` : text;
  });
  return [...(versions.length > named ? [`${versions.length} versions`] : versions), ...counted].join(" · ");
}

/** To the right of the last of `marks`, in fewer words where it has to be, or to the left of the first one where the axis ends;
 * `from` and `to` are px on the axis. */
function box(marks, x, width) {
  const [first, last] = [marks[0].at, marks.at(-1).at];
  const [right, left] = [x(last) + BESIDE_PX, x(first) - BESIDE_PX];
  const texts = [together(marks), together(marks, 1)];
  const text = texts.find((one) => right + lengthOf(one) <= width);
  if (text || left < width - right) return { text: text ?? texts[1], at: last, side: "left", from: right, to: right + lengthOf(text ?? texts[1]), marks };
  return { text: texts[1], at: first, side: "right", from: left - lengthOf(texts[1]), to: left, marks };
}

const lengthOf = (text) => text.length * CHARACTER_PX;

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
