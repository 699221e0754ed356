// The place for your own setters, which run after the kubelet's. docs/custom-setters.md describes how to write one.
import type { Facts } from "../protocol/facts.ts";
import type { RecordAnyEvent, Setter } from "./setter.ts";

/** The whole input of a custom setter. */
export interface CustomSources {
  /** The facts' `custom` map: what the machine's drop-ins report, of limited size. */
  custom: Readonly<NonNullable<Facts["custom"]>>;
  /** RFC 3339, UTC, whole seconds. */
  now: string;
  recordEvent: RecordAnyEvent;
}

export type CustomSetter = (sources: CustomSources) => Setter;

/** Add yours here, in the order of their runs. */
export const customSetters: readonly CustomSetter[] = [];

/** A custom setter that throws counts as failed, and does not prevent the Node's update. */
export function contained(setter: CustomSetter, sources: CustomSources): Setter {
  return (node) => {
    try {
      return setter(sources)(node);
    } catch (error) {
      return `custom setter ${setter.name} threw: ${String(error)}`;
    }
  };
}
