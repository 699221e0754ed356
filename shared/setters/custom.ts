// The one place for setters of your own: they run after the kubelet's. How to write one: docs/custom-setters.md.
import type { Facts } from "../protocol/facts.ts";
import type { RecordEvent, Setter } from "./setter.ts";

/** What a custom setter decides from; it reads nothing else. */
export interface CustomSources {
  /** The facts' `custom` map: what the machine's drop-ins say, of bounded size. */
  custom: Readonly<NonNullable<Facts["custom"]>>;
  /** RFC 3339, UTC, whole seconds. */
  now: string;
  recordEvent: RecordEvent;
}

export type CustomSetter = (sources: CustomSources) => Setter;

/** Yours go here, in the order in which they shall run. */
export const customSetters: readonly CustomSetter[] = [];

/** A custom setter that throws is one that fails: it must not keep the Node from being updated. */
export function contained(setter: CustomSetter, sources: CustomSources): Setter {
  return (node) => {
    try {
      return setter(sources)(node);
    } catch (error) {
      return `custom setter ${setter.name} threw: ${String(error)}`;
    }
  };
}
