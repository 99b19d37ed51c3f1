// The thresholds in force: the page's own controls have them, or on a page without any the view's.

import { sameRule } from "../twins/replay.js";
import { disableChoices } from "./choices.js";
import { connectControls } from "./controls.js";
import { settingsNow } from "./state.js";

// view: as in view.js.
export function makeSettings(view) {
  const { state } = view;
  let thresholds = null, controls = null;

  return {
    // root: what the page's controls find the view by.
    connect(root) {
      disableChoices(view.props.offers ?? {}, view.props.pair);
      controls = connectControls(root, view.trigger, (settings) => {
        const known = state.moved && sameRule(settings, state.moved); // an answer to what the view itself asked for
        state.moved = settings;
        if (!known) view.drawing.redrawSoon();
      });
    },
    // Controls of the view's own, on a page without any other.
    use(own) { thresholds = own; },
    change(wanted) {
      state.moved = { ...settingsNow(state), ...wanted };
      view.drawing.redrawSoon();
      if (thresholds) thresholds.set(state.moved);
      else controls.want(state.moved);
    },
    // Show knobs by name in the controls, and a pair where one is given.
    show(knobs, pair) {
      if (thresholds) thresholds.set(knobs);
      else controls.configure(knobs, pair);
    },
    rerun: () => controls.rerun(state.run.head),
  };
}
