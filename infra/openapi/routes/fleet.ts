// The operators' routes over the fleet index. None of them wakes a machine's object.
import {
  fleetHistorySchema,
  fleetMachineSchema,
  machinesSchema,
} from "../../../shared/protocol/fleet-answers.ts";
import { fleetHistoryQuerySchema, machinesQuerySchema } from "../../../shared/protocol/fleet-api.ts";
import { rolloutSchema } from "../../../shared/protocol/rollout-answers.ts";
import { newRolloutSchema } from "../../../shared/protocol/rollout-api.ts";
import { versionsSchema } from "../../../shared/protocol/version-answers.ts";
import { LINES, list, LISTED } from "../lists.ts";
import { DONE, json, query, type Route } from "../route.ts";

/** What a filter's parameters find, in each route that takes one. */
const FILTER = {
  state: "In one of these states: `silent,blocked`.",
  phase: "Whose last answer had one of these phases: `cloned,two shims`.",
  condition: "Whose Node has all of these: `MemoryPressure`, `!Ready`, `Ready=Unknown`, `Ready!=False`.",
  selector: "Whose Node's labels match, as with `kubectl -l`: `site=b,tier!=gpu`.",
  version: "Whose shim's version is this one, or for which all of these hold: `>=0.1.0,!=0.1.3`.",
  address: "That report from this address or range: `203.0.113.0/24`.",
  beside: "That report from the same address as this machine.",
  token: "That enrolled with the join token of this ID.",
  unused: "`true`: that have never reported with their key; `false`: that have.",
  text: "That have this somewhere in their name, addresses, labels or versions.",
  since: "Whose state began after this time (RFC 3339).",
  until: "Whose state began at this time or before.",
};

export const FLEET_ROUTES: readonly Route[] = [
  {
    method: "GET",
    path: "/v1/machines",
    id: "listMachines",
    group: "fleet",
    who: "view",
    what: "List the machines that match, and count them by state",
    more: `${LINES} The answer has an ETag.`,
    query: query(machinesQuerySchema, {
      ...FILTER,
      sort: "By `name`, `state`, `since`, `version`, `address` or `urgency`; `-since`: the other way round.",
      fields: "Which fields of each machine, separated by commas.",
      ...LISTED,
      cursor: "That of the page before.",
    }),
    answers: {
      200: list("A page.", "Machines", machinesSchema),
      304: { what: "To If-None-Match: nothing has changed." },
    },
  },
  {
    method: "GET",
    path: "/v1/history",
    id: "getFleetHistory",
    group: "fleet",
    who: "view",
    what: "What became of all machines, newest first",
    more: LINES,
    query: query(fleetHistoryQuerySchema, {
      since: "After this time (RFC 3339).",
      until: "At this time or before.",
      kind: "Only entries of these kinds, separated by commas.",
      name: "Only of this machine.",
      text: "Only lines that have this somewhere.",
      before: "Only what came before the entry of this ID: the next page.",
      ...LISTED,
    }),
    answers: { 200: list("A page.", "FleetHistory", fleetHistorySchema) },
  },
  {
    method: "GET",
    path: "/v1/rollout",
    id: "getRollout",
    group: "fleet",
    who: "view",
    what: "The rollout: which version of the shim which machines are given, and what became of those that were",
    answers: { 200: json("It; null: there is none.", "RolloutState", rolloutSchema) },
  },
  {
    method: "PUT",
    path: "/v1/rollout",
    id: "putRollout",
    group: "fleet",
    who: "admin",
    what: "Begin a rollout, widen it, or go on with one that has stopped",
    more: "Machines that are silent by now do not stop it again. Another version takes the place of the one before.",
    body: newRolloutSchema,
    answers: { 200: json("It goes on.", "RolloutState", rolloutSchema) },
  },
  {
    method: "POST",
    path: "/v1/rollout/stop",
    id: "stopRollout",
    group: "fleet",
    who: "admin",
    what: "Give the version to no other machine for now",
    answers: { 200: json("It has stopped.", "RolloutState", rolloutSchema) },
    refusals: ["not-found"],
  },
  {
    method: "DELETE",
    path: "/v1/rollout",
    id: "endRollout",
    group: "fleet",
    who: "admin",
    what: "End the rollout and forget it; machines keep what they have",
    answers: DONE,
    refusals: ["not-found"],
  },
  {
    method: "GET",
    path: "/v1/versions",
    id: "getVersions",
    group: "fleet",
    who: "view",
    what: "How many machines have which version of the shim, in which states, and which are behind the Worker",
    answers: { 200: json("The versions.", "Versions", versionsSchema) },
  },
  {
    method: "GET",
    path: "/v1/nodes/{name}/summary",
    id: "getMachine",
    group: "fleet",
    who: "view",
    what: "What is known of a machine without waking its object",
    answers: { 200: json("The machine.", "Machine", fleetMachineSchema) },
    refusals: ["not-found"],
  },
];
