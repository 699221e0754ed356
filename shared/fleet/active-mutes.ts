// Describes the mutes that are on, for the page and the command line.
import type { ListedMute } from "../protocol/receiver-answers.ts";
import { FLEET_STATES } from "./state.ts";

/** The machines of a receiver or a mute. "" is no limit. */
interface Scope {
  selector: string;
  names: string;
}

/** The most names in the description of a scope. */
const NAMES_SHOWN = 3;

/** Describes the machines of a scope, like `machines named edge-* and with site=berlin`, or `all machines`. */
export function machinesText({ selector, names }: Scope): string {
  const all = names.split(",");
  const more = all.length > NAMES_SHOWN ? ` and ${all.length - NAMES_SHOWN} more` : "";
  const named = `${all.slice(0, NAMES_SHOWN).join(", ")}${more}`;
  const limits = [names !== "" && `named ${named}`, selector !== "" && `with ${selector}`].filter(Boolean);
  return limits.length === 0 ? "all machines" : `machines ${limits.join(" and ")}`;
}

/** The most mutes that a notice describes. */
export const MUTES_SHOWN = 3;
/** All states but `ready` and `pending`, which cause no alert. */
const ALL_STATES = FLEET_STATES.length - 2;

/** The mutes that are on now: the first ones, those of all machines before others, and the number of the rest. */
export interface ActiveMutes {
  shown: { what: string; until: string; who: string }[];
  more: number;
}

/** Returns the mutes that are on; null if none is. */
export function activeMutes(mutes: readonly ListedMute[], nowMs: number): ActiveMutes | null {
  const on = mutes.filter(({ from, until }) => Date.parse(from) <= nowMs && nowMs < Date.parse(until));
  if (on.length === 0) return null;
  const isWhole = ({ selector, names }: Scope) => selector === "" && names === "";
  const ordered = [...on.filter(isWhole), ...on.filter((mute) => !isWhole(mute))];
  const shown = ordered.slice(0, MUTES_SHOWN).map(({ states, until, who, ...scope }) => ({
    what: `${states.length < ALL_STATES ? `${states.join(", ")} of ` : ""}${machinesText(scope)}`,
    until,
    who,
  }));
  return { shown, more: on.length - shown.length };
}

/** Describes the mutes that are on in one line, like `no alerts on all machines until 2026-01-31T12:00:00Z, by alice`. */
export function mutesText({ shown, more }: ActiveMutes): string {
  const each = shown.map(({ what, until, who }) => `${what} until ${until}, by ${who}`);
  return `no alerts on ${[...each, ...(more > 0 ? [`${more} more`] : [])].join("; ")}`;
}
