// The tie to the page's own controls: the view has no thresholds of its own. It hears of every change as a document event, and
// asks for values by leaving them where the page picks them up. Without a page around it, both are silent.

const SETTLED = 400; // ms without a change, and no pointer down, before the server is asked for its notes

function connectControls(root, onSettings) {
  let timer = 0, pressed = false;
  const settle = () => {
    clearTimeout(timer);
    timer = setTimeout(() => (pressed ? settle() : trigger("settled")), SETTLED);
  };
  document.addEventListener("pointerdown", () => { pressed = true; }, true);
  for (const name of ["pointerup", "pointercancel"]) document.addEventListener(name, () => { pressed = false; }, true);
  // Gradio's number fields make the least value of a text that is no number; what stood there is put back instead.
  let stood = "";
  const isNumber = (target) => target.matches?.("#rail input[type=number]");
  document.addEventListener("focusin", ({ target }) => { if (isNumber(target)) stood = target.value; });
  document.addEventListener("blur", ({ target }) => {
    if (!isNumber(target) || target.value !== "" || !stood) return;
    target.value = stood;
    target.dispatchEvent(new Event("input", { bubbles: true }));
  }, true);
  // The knobs of a rule stand there only while it is chosen; FLy's, the page's own subject, always.
  const shown = Object.entries(RULES).filter(([rule]) => rule !== "fly").flatMap(([rule, { knobs }]) =>
    knobs.map((name) => `#rail:not(:has(#knob-rule input[value="${rule}"]:checked)) #knob-${name} { display: none; }`));
  // And those of trees only beside the drafter that makes them.
  shown.push(...["tree", "tree_width"].map((name) => `#rail:not(:has(#knob-drafter input[value="features"]:checked)) #knob-${name} { display: none; }`));
  if (!props.alone) document.head.append(make("style", "", shown.join("\n"))); // a page of its own has no such knobs, and takes no style from a script
  document.addEventListener("explorer-controls", ({ detail }) => { onSettings(detail); settle(); });

  return {
    // Set the controls of the rule; they answer with an event of their own.
    want(settings) {
      root.wanted = RULE_KNOBS.map((name) => settings[name]);
      trigger("wanted");
    },
    // Set any controls at once: knobs by name, and the pair where one is given; all others stay.
    configure(knobs, pair) {
      root.configured = ([standing, ...now]) => [pair ?? standing, ...Object.keys(KNOBS).map((name, index) => knobs[name] ?? now[index])];
      trigger("configured");
    },
    rerun: (head) => trigger("rerun", { prompt: head.prompt, pair: head.pair }),
  };
}
