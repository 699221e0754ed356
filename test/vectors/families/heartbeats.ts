// Runs the recordings of patches, registration, heartbeats, leases and events.
import type { Family } from "../family.ts";
import { events } from "./events.ts";
import { leases } from "./leases.ts";
import { patches } from "./patches.ts";
import { registrations } from "./registrations.ts";
import { timelines } from "./timelines.ts";

export const heartbeats: Record<string, Family> = {
  ...patches,
  ...registrations,
  ...timelines,
  ...leases,
  ...events,
};
