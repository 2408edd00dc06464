// Building elements. Text goes in as text and never as markup; no style or handler is an attribute.

/** An element: `h("p", {class: "note", onclick: go}, "text", child)`. A key with `on` listens; a boolean
 * sets or leaves out an attribute; children that are null or false are left out. */
export function h(name, attributes, ...children) {
  const element = document.createElement(name);
  set(element, attributes);
  append(element, children);
  return element;
}

const SVG = "http://www.w3.org/2000/svg";

/** An element of a drawing. */
export function svg(name, attributes, ...children) {
  const element = document.createElementNS(SVG, name);
  set(element, attributes);
  append(element, children);
  return element;
}

function set(element, attributes) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") throw new Error("styles are in style.css");
    else element.setAttribute(name, value === true ? "" : String(value));
  }
}

function append(element, children) {
  for (const child of children.flat(2)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

/** Gives an element these children, and leaves it alone where it has them already. */
export function children(element, wanted) {
  wanted = wanted.filter(Boolean);
  wanted.forEach((child, index) => {
    if (element.childNodes[index] !== child) element.insertBefore(child, element.childNodes[index] ?? null);
  });
  while (element.childNodes.length > wanted.length) element.lastChild.remove();
}

/** Sets the text of an element where it is another. */
export function text(element, words) {
  if (element.textContent !== words) element.textContent = words;
}

/** The element of this id. */
export function id(name) {
  return document.getElementById(name);
}
