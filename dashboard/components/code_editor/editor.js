// The code editor of the pages: edit, or show the difference to an original (unified or split), with diagnostics.
import { EditorState, Compartment } from "@codemirror/state";
import {
  EditorView, keymap, lineNumbers, highlightActiveLine, highlightActiveLineGutter, drawSelection,
} from "@codemirror/view";
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { python } from "@codemirror/lang-python";
import { sql, SQLDialect, SQLite } from "@codemirror/lang-sql";
import { indentOnInput, bracketMatching, foldGutter, foldKeymap, indentUnit } from "@codemirror/language";
import { searchKeymap, highlightSelectionMatches } from "@codemirror/search";
import { closeBrackets, closeBracketsKeymap, autocompletion, completionKeymap } from "@codemirror/autocomplete";
import { lintGutter, setDiagnostics } from "@codemirror/lint";
import { getChunks, unifiedMergeView, MergeView } from "@codemirror/merge";
import { Kept, living } from "./keeping.js";
import { themeOf } from "./theme.js";

const COLLAPSE = { margin: 3, minSize: 6 };
/** Two panes of fewer pixels than this have no room for a line each. */
const NARROWEST_SPLIT = 600;

/** Spark's SQL, as far as it is coloured: the common words (SQLite has them), names in backquotes, and the words of its streams. */
const SPARK = SQLDialect.define({
  keywords: `${SQLite.spec.keywords} stream streaming watermark delay interval materialized options tblproperties partitioned using window`,
  types: `${SQLite.spec.types} string long timestamp_ntz struct`,
  identifierQuotes: "`",
  doubleQuotedStrings: true,
});
const LANGUAGES = { python, sql: () => sql({ dialect: SPARK }) };

/** Extensions that every pane has, writable or not. */
function reading(language) {
  return [
    lineNumbers(), foldGutter(), drawSelection(), highlightSelectionMatches(), language,
    keymap.of([...searchKeymap, ...foldKeymap]),
  ];
}

/** Extensions of the pane that is typed into. */
function writing() {
  return [
    history(), indentOnInput(), bracketMatching(), closeBrackets(), autocompletion(), lintGutter(), indentUnit.of("    "),
    highlightActiveLine(), highlightActiveLineGutter(),
    keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...historyKeymap, ...completionKeymap, indentWithTab]),
  ];
}

function locked() {
  return [EditorState.readOnly.of(true), EditorView.editable.of(false)];
}

/** What a pane is called; one that cannot be typed into is reached by Tab all the same, so that it can be scrolled and read. */
function named(label) {
  return EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0" });
}

/** Tells Python what was typed: after a pause, when the focus leaves, and at once on Ctrl-Enter. */
class Reporter {
  constructor(send, pauseMs, text) {
    this.send = send;
    this.pauseMs = pauseMs;
    this.said = text;
  }

  extension() {
    return [
      EditorView.updateListener.of((update) => update.docChanged && this.later(update.state)),
      EditorView.domEventHandlers({ blur: (_event, view) => this.now(view.state) }),
      keymap.of([{ key: "Mod-Enter", run: (view) => this.now(view.state) }]),
    ];
  }

  later(state) {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.now(state), this.pauseMs);
  }

  now(state) {
    clearTimeout(this.timer);
    const text = state.doc.toString();
    if (text !== this.said) {
      this.said = text;
      this.send(text);
    }
    return true;
  }

  /** In another place: Python knows `text` there, and hears of what differs from it. */
  again(text, state) {
    this.said = text;
    if (state.doc.toString() !== text) this.later(state);
  }

  stop() {
    clearTimeout(this.timer);
  }
}

function splitView(parent, data, extensions, theme, language) {
  const view = new MergeView({
    a: { doc: data.original, extensions: [reading(language), locked(), named(`${data.label}, as it was`), theme()] },
    b: { doc: data.value, extensions },
    parent,
    collapseUnchanged: COLLAPSE,
    gutter: true,
  });
  return { panes: [view.a, view.b], main: view.b, destroy: () => view.destroy() };
}

/** Only "undo": the original stands fast, so there is nothing that accepting a change would do. */
function undoControl(kind, act) {
  if (kind === "accept") return document.createElement("span");
  const button = document.createElement("button");
  button.textContent = "Undo";
  button.title = "Put back what the original says here";
  button.onmousedown = act;
  return button;
}

function singleView(parent, data, extensions) {
  const difference = unifiedMergeView({
    original: data.original,
    mergeControls: data.readonly ? false : undoControl,
    collapseUnchanged: data.collapse ? COLLAPSE : undefined,
    syntaxHighlightDeletions: true,
    gutter: true,
  });
  const all = data.mode === "unified" ? [extensions, difference] : extensions;
  const view = new EditorView({ state: EditorState.create({ doc: data.value, extensions: all }), parent });
  return { panes: [view], main: view, destroy: () => view.destroy() };
}

/** `data` as it can be read here: where two panes have no room the difference stands inside the text, whose lines are wrapped. */
function fitting(host, data) {
  const narrow = data.mode === "split" && host.clientWidth > 0 && host.clientWidth < NARROWEST_SPLIT;
  return narrow ? { ...data, mode: "unified", collapse: true, wrap: true } : data;
}

/** Builds the editor that `data` asks for inside `host`; it follows the page's theme as often as it is shown. */
function open(host, data, send) {
  const root = document.createElement("div");
  root.className = "tm-code";
  host.appendChild(root);
  const themed = new Compartment();
  const grows = data.mode === "split" || data.wrap;
  const height = grows ? 0 : data.height;
  if (grows) root.style.maxHeight = `${data.height}px`;
  root.classList.toggle("tm-code-split", Boolean(grows));
  const theme = () => themed.of(themeOf(host, height));
  const reporter = new Reporter(send, data.pauseMs, data.value);
  const label = named(data.label);
  const spoken = new Compartment();
  const language = spoken.of(LANGUAGES[data.language]());
  const wrapped = data.wrap ? EditorView.lineWrapping : [];
  const extensions = [reading(language), data.readonly ? locked() : writing(), reporter.extension(), label, theme(), wrapped];
  const view = data.mode === "split" ? splitView(root, data, extensions, theme, language) : singleView(root, data, extensions);
  const repaint = (place) => {
    const now = themeOf(place, height);
    view.panes.filter((pane) => themed.get(pane.state) !== now).forEach((pane) => pane.dispatch({ effects: themed.reconfigure(now) }));
  };
  const speak = (name) => view.panes.forEach((pane) => pane.dispatch({ effects: spoken.reconfigure(LANGUAGES[name]()) }));
  const destroy = () => {
    reporter.stop();
    view.destroy();
  };
  return Object.assign(new Kept(data.name, root, destroy), { mode: data.mode, language: data.language, view: view.main, repaint, reporter, speak });
}

/** Brings the first difference into view, inside the editor alone: the page stays where it is. */
function showFirstChange(view) {
  const [first] = getChunks(view.state)?.chunks ?? [];
  if (!first) return;
  const scroller = view.dom.closest(".tm-code-split") ?? view.scrollDOM;
  view.requestMeasure({
    read: () => view.lineBlockAt(Math.min(first.fromB, view.state.doc.length)).top,
    write: (top) => { scroller.scrollTop = Math.max(0, top - scroller.clientHeight / 2); },
  });
}

/** Underlines what Python found; lines count from 1, columns from 0. */
function showDiagnostics(view, diagnostics) {
  const { doc } = view.state;
  const placed = diagnostics
    .filter(({ line }) => line >= 1 && line <= doc.lines)
    .map(({ line, column, severity, message }) => {
      const { from, to } = doc.line(line);
      return { from: Math.min(to, from + column), to, severity, message };
    });
  view.dispatch(setDiagnostics(view.state, placed));
}

/** The component: called again with new data; the editor of a name lives on, in whatever place, unless its mode changed. */
export default function codeEditor({ data: asked, parentElement: host, setStateValue }) {
  const data = fitting(host, asked);
  const send = (text) => setStateValue("value", text);
  let editor = living(data.name);
  if (editor && editor.mode !== data.mode) {
    editor.destroy();
    editor = undefined;
  }
  const opened = !editor;
  editor ??= open(host, data, send);
  editor.reporter.send = send;
  const moved = editor.root.parentNode !== host;
  const leave = editor.show(host);
  if (moved) editor.reporter.again(data.value, editor.view.state);
  if (editor.language !== data.language) editor.speak(data.language);
  editor.language = data.language;
  if (opened && data.mode !== "edit") showFirstChange(editor.view);
  editor.repaint(host);
  showDiagnostics(editor.view, data.diagnostics);
  return leave;
}
