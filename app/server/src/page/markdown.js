// A small part of Markdown, into elements: paragraphs, headings, lists, quotes, code, bold, emphasis,
// links to http and https. Everything else is text. Nothing is fetched, and no markup passes through.

import { h } from "./dom.js";
import { visible } from "./visible.js";

/** The blocks of a text, each with its source, so that only what changed is made anew. */
export function blocks(text) {
  const found = [];
  let lines = [];
  const close = () => {
    if (lines.length) found.push({ kind: "text", source: lines.join("\n") });
    lines = [];
  };
  const all = text.split("\n");
  for (let index = 0; index < all.length; index += 1) {
    const line = all[index];
    const fence = /^ {0,3}(`{3,}|~{3,})\s*([\w+#.-]*)[^`]*$/.exec(line);
    if (fence) {
      close();
      const code = [];
      const end = new RegExp(`^ {0,3}${fence[1][0]}{${fence[1].length},}\\s*$`);
      index += 1;
      while (index < all.length && !end.test(all[index])) code.push(all[index++]);
      found.push({ kind: "code", language: fence[2], source: code.join("\n") });
    } else if (line.trim() === "") {
      close();
    } else if (/^#{1,6}\s/.test(line)) {
      close();
      found.push({ kind: "heading", source: line });
    } else {
      lines.push(line);
    }
  }
  close();
  return found;
}

/** Shows a text in an element; blocks that it shows already are left alone. */
export function show(element, text) {
  const wanted = blocks(text);
  const keys = element.blocks ?? [];
  const same = (a, b) => a?.kind === b.kind && a.source === b.source && a.language === b.language;
  wanted.forEach((block, index) => {
    if (same(keys[index], block)) return;
    const made = made_of(block);
    const old = element.childNodes[index];
    if (old) old.replaceWith(made);
    else element.append(made);
  });
  while (element.childNodes.length > wanted.length) element.lastChild.remove();
  element.blocks = wanted;
}

function made_of(block) {
  if (block.kind === "code") {
    return h("pre", { class: "code", tabindex: "0", "aria-label": `Code ${block.language}`.trim() },
      h("code", null, visible(block.source)));
  }
  if (block.kind === "heading") {
    const [, marks, words] = /^(#+)\s+(.*)$/.exec(block.source) ?? [null, "#", block.source];
    return h("p", { class: `heading level-${marks.length}` }, inline(words.replace(/\s#+\s*$/, "")));
  }
  return text_block(block.source.split("\n"));
}

const BULLET = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;

function text_block(lines) {
  if (lines.every((line) => /^\s*>/.test(line))) {
    return h("blockquote", null, text_block(lines.map((line) => line.replace(/^\s*> ?/, ""))));
  }
  if (lines.length > 1 && lines.every((line) => line.includes("|"))) {
    return h("pre", { class: "code", tabindex: "0", "aria-label": "Table" }, visible(lines.join("\n")));
  }
  if (lines.every((line) => /^ {4}|^\t/.test(line))) {
    const code = lines.map((line) => line.replace(/^ {4}|^\t/, "")).join("\n");
    return h("pre", { class: "code", tabindex: "0", "aria-label": "Code" }, h("code", null, visible(code)));
  }
  const at = lines.findIndex((line) => BULLET.test(line));
  if (at < 0) return paragraph(lines);
  if (at > 0) return h("div", null, paragraph(lines.slice(0, at)), list(lines.slice(at)));
  return list(lines);
}

function list(lines) {
  const items = [];
  for (const line of lines) {
    const bullet = BULLET.exec(line);
    if (bullet) items.push({ mark: bullet[2], deep: bullet[1].length > 1, lines: [bullet[3]] });
    else items.at(-1).lines.push(line);
  }
  const ordered = /\d/.test(items[0].mark);
  const start = ordered ? Number.parseInt(items[0].mark, 10) : 1;
  const shown = items.map((item) => h("li", { class: item.deep && "deep" }, joined(item.lines)));
  return h(ordered ? "ol" : "ul", { start: start > 1 && start }, shown);
}

function paragraph(lines) {
  return h("p", null, joined(lines));
}

function joined(lines) {
  return lines.flatMap((line, index) => (index ? [h("br"), ...inline(line)] : inline(line)));
}

const INLINE = /(`+)([^`]|[^`][\s\S]*?[^`])\1(?!`)|\*\*([^\s*](?:[^*]*[^\s*])?)\*\*|__([^\s_](?:[^_]*[^\s_])?)__|!?\[([^\]]*)\]\(([^\s()]+)\)|(?<![\w*])\*([^\s*](?:[^*]*[^\s*])?)\*(?![\w*])|(https?:\/\/[^\s<>()"'`]+[^\s<>()"'`.,;:!?])/g;

/** Longer lines are shown as they are: looking for marks in them could take long. */
const LONG = 2000;

/** A line's parts. */
export function inline(line) {
  if (line.length > LONG) return [visible(line)];
  const parts = [];
  let from = 0;
  for (const match of line.matchAll(INLINE)) {
    const [whole, , code, strong, bold, label, target, emphasis, bare] = match;
    if (match.index > from) parts.push(visible(line.slice(from, match.index)));
    from = match.index + whole.length;
    if (code !== undefined) parts.push(h("code", null, visible(code)));
    else if (strong ?? bold) parts.push(h("strong", null, visible(strong ?? bold)));
    else if (emphasis !== undefined) parts.push(h("em", null, visible(emphasis)));
    else if (bare !== undefined) parts.push(link(bare, bare) ?? visible(whole));
    else parts.push(link(label, target) ?? visible(whole));
  }
  if (from < line.length) parts.push(visible(line.slice(from)));
  return parts;
}

/** A link that says where it goes, or null where that is not http or https. */
export function link(label, target) {
  let url;
  try {
    url = new URL(target);
  } catch {
    return null;
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") return null;
  const anchor = h("a", { href: url.href, rel: "noopener noreferrer", target: "_blank" }, visible(label || target));
  if (label === target || !label) return anchor;
  return h("span", null, anchor, h("span", { class: "target" }, ` (${visible(target)})`));
}
