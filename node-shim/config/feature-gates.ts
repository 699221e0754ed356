// Decides which feature gates a configuration turns on, as the kubelets of both releases do. The shim itself has none.
import { failure, type Result, success } from "../../shared/result.ts";
import { gatesOf, type ReleaseGates, RELEASES } from "./known-gates.ts";
import { nearestName } from "./nearest-name.ts";

/** Returns whether the gate with this name is on. */
export type FeatureGates = (name: string) => boolean;

/** The gates that turn all gates of a stage on or off, except gates that the configuration names. */
const STAGES: ReadonlyMap<string, string> = new Map([
  ["AllAlpha", "alpha"],
  ["AllBeta", "beta"],
]);

const BY_RELEASE = RELEASES.map(gatesOf);
/** The gates of each release, with the gates that only another release has. */
const VIEWS: readonly ReleaseGates[] = BY_RELEASE.map((own) => {
  const foreign = BY_RELEASE.flatMap(({ needs }) => [...needs].filter(([name]) => !own.gates.has(name)));
  return {
    gates: new Map([...BY_RELEASE.flatMap(({ gates }) => [...gates]), ...own.gates]),
    needs: new Map([...foreign, ...own.needs]),
  };
});

/**
 * Returns the gates that `set` turns on, for each release that accepts `set`. If no release does, returns the newest
 * release's fault.
 */
export function featureGates(set: Readonly<Record<string, boolean>>): Result<FeatureGates[]> {
  const accepted: FeatureGates[] = [];
  let fault = "";
  for (const view of VIEWS) {
    const gates = featureGatesOf(view, set);
    if (gates.ok) accepted.push(gates.value);
    else fault = gates.error;
  }
  return accepted.length > 0 ? success(accepted) : failure(fault);
}

/** Returns the gates that `set` turns on in this view, or a fault, like featureGate.SetFromMap. */
function featureGatesOf(
  { gates, needs }: ReleaseGates,
  set: Readonly<Record<string, boolean>>,
): Result<FeatureGates> {
  for (const [name, isOn] of Object.entries(set)) {
    if (STAGES.has(name)) continue;
    const gate = gates.get(name);
    if (!gate)
      return failure(
        `unrecognized feature gate: ${name}; the nearest known name is ${nearestName(name, [...gates.keys(), ...STAGES.keys()])}`,
      );
    if (gate.isLocked && gate.isOn !== isOn)
      return failure(`cannot set feature gate ${name} to ${isOn}, feature is locked to ${gate.isOn}`);
  }
  const ofStage = new Map([...STAGES].map(([name, stage]) => [stage, set[name]]));
  const isOn: FeatureGates = (name) => {
    const gate = gates.get(name);
    return set[name] ?? ofStage.get(gate?.stage ?? "") ?? gate?.isOn ?? false;
  };
  for (const [name, needed] of needs) {
    const off = needed.filter((need) => !isOn(need));
    if (isOn(name) && off.length > 0)
      return failure(`${name} is enabled, but depends on features that are disabled: ${off.join(", ")}`);
  }
  return success(isOn);
}
