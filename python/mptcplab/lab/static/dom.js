// Making elements: h("button", { class: "plain", onclick: f }, "text", child)

export function h(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

export function svg(name, attributes = {}, ...children) {
  return filled(document.createElementNS("http://www.w3.org/2000/svg", name), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "style") Object.assign(element.style, value);
    else if (name === "value") element.value = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

let last = 0;

/** An identifier that no other element has. */
export function identifier(prefix) {
  last += 1;
  return `${prefix}-${last}`;
}

/** Says something to a screen reader. */
export function announce(text) {
  document.getElementById("said").textContent = text;
}
