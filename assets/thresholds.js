// The controls of the rule on a page without a server: there are no others there, so this one answers the view as the page's
// own controls would.

// settings: of the run. Returns {root, set(settings)}.
function makeThresholds(settings) {
  const words = TEXT.thresholds;
  const now = { ...settings };
  const tell = () => {
    show();
    document.dispatchEvent(new CustomEvent("explorer-controls", { detail: { ...now } }));
  };
  const labelled = (name, control, ...more) => make("label", "threshold", make("span", "threshold-name", words[name]), control, ...more);
  const choice = (name, values) => {
    const list = make("select");
    for (const value of values) list.append(new Option(TEXT.whatif.values[value], value));
    list.addEventListener("change", () => {
      now[name] = list.value;
      if (name === "entropy") now.theta = THETA_OF_MEASURE[list.value];
      tell();
    });
    return list;
  };
  const amount = (name, step) => {
    const range = make("input"), figure = make("output", "figure");
    Object.assign(range, { type: "range", min: KNOBS[name].low, max: KNOBS[name].high, step });
    range.addEventListener("input", () => { now[name] = +range.value; tell(); });
    return [range, figure];
  };
  const rule = choice("rule", ["fly", "exact"]), measure = choice("entropy", Object.keys(ENTROPY_MAXIMUM));
  const [theta, thetaFigure] = amount("theta", 0.005), [span, windowFigure] = amount("window", 1);
  const includes = make("input");
  includes.type = "checkbox";
  includes.addEventListener("change", () => { now.window_includes_mismatch = includes.checked; tell(); });
  const root = make("section", "thresholds", labelled("rule", rule), labelled("entropy", measure), labelled("theta", theta, thetaFigure),
    labelled("window", span, windowFigure), labelled("window_includes_mismatch", includes));
  root.setAttribute("aria-label", words.title);
  root.hidden = settings.rule === "autoregressive"; // no drafts, nothing to judge

  function show() {
    rule.value = now.rule;
    measure.value = now.entropy;
    theta.value = now.theta;
    thetaFigure.textContent = now.theta > ENTROPY_MAXIMUM[now.entropy] ? words.never : String(now.theta);
    span.value = now.window;
    windowFigure.textContent = String(now.window);
    includes.checked = now.window_includes_mismatch;
  }
  show();
  return { root, set: (wanted) => { Object.assign(now, wanted); tell(); } };
}
