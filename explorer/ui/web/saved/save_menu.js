// The menu of files that can be made from the run on show.

import { button, make } from "../core/dom.js";
import { TEXT } from "../given/texts.js";

// files: of makeFiles(); parts: as there; ended(): whether the run on show has ended; without: which whole files cannot be made
// here, of trace and page.
export function makeSaveMenu({ files, parts, ended, without }) {
  const words = TEXT.share, pictures = Object.keys(parts).map((name) => pictureRow(name, words.parts[name], files));
  const saveTrace = () => { if (!files.saveTrace()) root.open = false; };
  const whole = [["trace", "JSON", saveTrace], ["rounds", "CSV", files.saveRounds], ["page", "HTML", files.savePage]];
  const rows = whole.filter(([name]) => !without.includes(name)).map(([name, kind, onClick]) =>
    row("save-row whole", words[name], named(kind, `${words[name]}, ${kind}`, onClick)));
  const root = make("details", "save", make("summary", "", words.save), make("div", "save-panel", ...rows, ...pictures));

  function close() {
    root.open = false;
    root.querySelector("summary").focus();
  }

  root.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !root.open) return;
    close();
    event.stopPropagation();
  });
  document.addEventListener("pointerdown", (event) => { if (!root.contains(event.target)) root.open = false; });
  root.addEventListener("toggle", () => {
    for (const node of root.querySelectorAll(".whole button")) node.disabled = !ended();
    pictures.forEach((part, index) => {
      const { hidden } = Object.values(parts)[index]().node;
      for (const node of part.querySelectorAll("button")) node.disabled = hidden;
    });
  });
  root.hidden = true;
  return { root, close };
}

const row = (className, name, ...buttons) => make("div", className, make("span", "save-name", name), ...buttons);

const pictureRow = (name, label, files) => row("save-row", label, ...["svg", "png"].map((kind) =>
  named(kind.toUpperCase(), `${label}, ${kind.toUpperCase()}`, () => files.savePicture(name, kind))));

function named(label, name, onClick) {
  const node = button("", label, onClick);
  node.setAttribute("aria-label", name);
  return node;
}
