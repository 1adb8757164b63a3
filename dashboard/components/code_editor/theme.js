// The editor in the colours and type of the page around it.
import { EditorView } from "@codemirror/view";
import { syntaxHighlighting, HighlightStyle } from "@codemirror/language";
import { tags as t } from "@lezer/highlight";

/** Readable on every background below, also on what changed in a line that has the caret (4.5 to 1). */
const SYNTAX = {
  dark: { keyword: "#d7aef5", string: "#a5d6a7", number: "#ffa888", comment: "#b0bac4", call: "#9dbdff", type: "#ffcb6b" },
  light: { keyword: "#7b1fa2", string: "#1b5e20", number: "#963508", comment: "#4b5563", call: "#1e40af", type: "#704b00" },
};
const themes = new Map();
const DIFFERENCE = {
  dark: { added: "#2ea04326", addedText: "#2ea04340", removed: "#f8514926", removedText: "#f8514940", line: "#ffffff0a", fold: "#ffffff10" },
  light: { added: "#2da44e1f", addedText: "#2da44e2e", removed: "#cf222e14", removedText: "#cf222e21", line: "#0000000a", fold: "#f0f4f8" },
};

function variable(element, name, otherwise) {
  return getComputedStyle(element).getPropertyValue(name).trim() || otherwise;
}

function isDark(colour) {
  const [red, green, blue] = (colour.match(/[0-9a-f]{2}/gi) ?? ["ff", "ff", "ff"]).map((part) => parseInt(part, 16));
  return 0.299 * red + 0.587 * green + 0.114 * blue < 128;
}

/** Colours by name: what is drawn once and kept (the deleted lines of a difference) takes on another theme too. */
const HIGHLIGHTING = HighlightStyle.define([
  { tag: [t.keyword, t.controlKeyword, t.operatorKeyword, t.definitionKeyword, t.moduleKeyword], color: "var(--tm-code-keyword)" },
  { tag: [t.string, t.special(t.string)], color: "var(--tm-code-string)" },
  { tag: [t.number, t.bool, t.null], color: "var(--tm-code-number)" },
  { tag: t.comment, color: "var(--tm-code-comment)", fontStyle: "italic" },
  { tag: [t.function(t.variableName), t.function(t.propertyName)], color: "var(--tm-code-call)" },
  { tag: [t.className, t.typeName, t.meta], color: "var(--tm-code-type)" },
]);

function named(colours) {
  return Object.fromEntries(Object.entries(colours).map(([name, colour]) => [`--tm-code-${name}`, colour]));
}

function frame({ text, background, border, primary, font, height, comment }) {
  return {
    "&": { color: text, backgroundColor: background, border: `1px solid ${border}`, borderRadius: "8px", fontSize: "13px", height: height ? `${height}px` : "auto" },
    "&.cm-focused": { outline: "none", borderColor: primary },
    ".cm-scroller": { fontFamily: font, fontVariantLigatures: "none", lineHeight: "1.55", overflow: "auto" },
    ".cm-content": { caretColor: primary, padding: "8px 0" },
    ".cm-cursor": { borderLeftColor: primary, borderLeftWidth: "2px" },
    ".cm-gutters": { backgroundColor: background, color: comment, border: "none", borderRadius: "8px" },
    ".cm-lineNumbers .cm-gutterElement": { padding: "0 6px 0 12px" },
    "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { background: `${primary}33` },
    ".cm-tooltip": { backgroundColor: background, color: text, border: `1px solid ${border}`, borderRadius: "6px" },
    ".cm-panels": { backgroundColor: background, color: text, borderColor: border },
  };
}

function difference(colours, { background, text, border, comment, primary }) {
  return {
    ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: colours.line },
    ".cm-changedLine": { backgroundColor: `${colours.added} !important` },
    ".cm-changedText": { background: `${colours.addedText} !important` },
    ".cm-deletedChunk": { backgroundColor: `${colours.removed} !important`, paddingLeft: "6px" },
    ".cm-deletedChunk .cm-deletedText": { background: `${colours.removedText} !important` },
    "&.cm-merge-a .cm-changedLine": { backgroundColor: `${colours.removed} !important` },
    "&.cm-merge-a .cm-changedText": { background: `${colours.removedText} !important` },
    ".cm-collapsedLines": { background: colours.fold, color: comment, padding: "3px 12px" },
    ".cm-collapsedLines::before, .cm-collapsedLines::after": { content: '""' },
    ".cm-deletedChunk .cm-chunkButtons": { insetInlineEnd: "10px" },
    ".cm-deletedChunk .cm-chunkButtons button": {
      background, color: text, border: `1px solid ${border}`, borderRadius: "5px", padding: "0 8px", margin: "1px 0",
      fontSize: "11px", lineHeight: "22px", fontFamily: "var(--st-font)", cursor: "pointer",
    },
    ".cm-deletedChunk .cm-chunkButtons button:hover": { borderColor: primary, color: primary },
  };
}

/** CodeMirror extensions in the theme that Streamlit's custom properties on `host` describe; a `height` of 0 grows with the text. */
export function themeOf(host, height) {
  const dark = isDark(variable(host, "--st-background-color", "#ffffff"));
  const page = {
    text: variable(host, "--st-text-color", "#1b2330"),
    background: variable(host, "--st-code-background-color", dark ? "#151a20" : "#f8f9fb"),
    border: variable(host, "--st-border-color", "#e3e6eb"),
    primary: variable(host, "--st-primary-color", "#2563eb"),
    font: variable(host, "--st-code-font", "ui-monospace, monospace"),
    comment: SYNTAX[dark ? "dark" : "light"].comment,
    height,
  };
  const key = JSON.stringify(page);
  if (!themes.has(key)) themes.set(key, build(page, dark));
  return themes.get(key);
}

function build(page, dark) {
  const name = dark ? "dark" : "light";
  const rules = { ...frame(page), ...difference(DIFFERENCE[name], page) };
  return [EditorView.theme({ ...rules, "&": { ...rules["&"], ...named(SYNTAX[name]) } }, { dark }), syntaxHighlighting(HIGHLIGHTING)];
}
