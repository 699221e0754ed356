// Lists the custom setters (docs/custom-setters.md), which run after the kubelet's setters.
import type { Facts } from "../protocol/facts.ts";
import type { RecordAnyEvent, Setter } from "./setter.ts";

/** The whole input of a custom setter. */
export interface CustomSources {
  /** The map `custom` of the facts, which the machine's drop-ins report. Its size is limited. */
  custom: Readonly<NonNullable<Facts["custom"]>>;
  /** The present time: RFC 3339, UTC, whole seconds. */
  now: string;
  recordEvent: RecordAnyEvent;
}

export type CustomSetter = (sources: CustomSources) => Setter;

/** The custom setters, in the order of their runs. Add your own setters here. */
export const customSetters: readonly CustomSetter[] = [];

/** Returns a setter that runs the custom setter. If the custom setter throws, it failed; the Node is still updated. */
export function contained(setter: CustomSetter, sources: CustomSources): Setter {
  return (node) => {
    try {
      return setter(sources)(node);
    } catch (error) {
      return `custom setter ${setter.name} threw: ${String(error)}`;
    }
  };
}
