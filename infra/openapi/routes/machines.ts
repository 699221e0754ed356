// Describes the routes about one machine, for operators and for machines. docs/protocol.md is normative for
// machines.
import {
  type EnrolmentAnswer,
  type LeaveAnswer,
  PHASES,
  REASONS_TO_STAY,
  type ReportAnswer,
  type RotationAnswer,
  type UpgradeAnswer,
} from "../../../shared/protocol/answers.ts";
import {
  historySchema,
  pendingSchema,
  sendersSchema,
  wholeNodeSchema,
} from "../../../shared/protocol/operator-answers.ts";
import { timelineSchema } from "../../../shared/protocol/timeline.ts";
import { grouped, FORMAT, json, list, LISTED } from "../description.ts";
import * as z from "zod/mini";

const reported: z.ZodMiniType<ReportAnswer> = z.object({
  phase: z.enum(PHASES),
  message: z.exactOptional(z.string()),
  ready: z.boolean(),
  ticket: z.string(),
  reportInMs: z.number(),
  factsRefused: z.exactOptional(z.object({ path: z.string(), message: z.string() })),
  socket: z.exactOptional(z.object({ path: z.string(), withinMs: z.number() })),
});
const enrolled: z.ZodMiniType<EnrolmentAnswer> = z.object({ kid: z.string(), ticket: z.string() });
const rotated: z.ZodMiniType<RotationAnswer> = z.object({ kid: z.string() });
const upgrade: z.ZodMiniType<UpgradeAnswer> = z.union([
  z.object({ version: z.string() }),
  z.object({ version: z.null(), why: z.enum(REASONS_TO_STAY) }),
]);
const left: z.ZodMiniType<LeaveAnswer> = z.object({ left: z.literal(true) });

export const MACHINES_DESCRIPTIONS = {
  ...grouped("nodes", {
    "GET /v1/pending": {
      id: "listPending",
      what: "List the machines that wait for a name that another key has, oldest first",
      about: FORMAT,
      answers: { 200: list("All that wait.", "Pending", pendingSchema) },
    },
    "GET /v1/nodes/{name}": {
      id: "getNode",
      what: "Show everything that is known of a machine",
      answers: { 200: json("The machine.", "Node", wholeNodeSchema) },
    },
    "GET /v1/nodes/{name}/history": {
      id: "getNodeHistory",
      what: "Show the history of a machine, newest first",
      more: "At most 10,000 entries and 90 days are kept.",
      about: {
        since: "After this time (RFC 3339).",
        until: "At this time or before.",
        before: "Only entries before the one with this ID: the next page.",
        kind: "Only entries of these kinds, separated by commas.",
        ...LISTED,
      },
      answers: { 200: list("A page.", "History", historySchema) },
    },
    "GET /v1/nodes/{name}/timeline": {
      id: "getNodeTimeline",
      what: "Show a machine's states and conditions over time, its events, and its available resources",
      more: "A range of 90 days at most. Unknown times are absent: before `knownSince`, and between the bands of a track.",
      about: {
        since: "From this time on (RFC 3339); by default a day before `until`.",
        until: "Up to this time; by default now. It may not be later.",
      },
      answers: { 200: json("The range.", "Timeline", timelineSchema) },
    },
    "GET /v1/nodes/{name}/clones": {
      id: "getNodeSenders",
      what: "List the senders of recent reports with a machine's key, newest first",
      answers: { 200: json("The senders.", "Senders", sendersSchema) },
    },
    "POST /v1/nodes/{name}/approve": {
      id: "approveMachine",
      what: "Give a name to the waiting machine with this key",
      more: "The key before it is refused for ever.",
    },
    "POST /v1/nodes/{name}/reject": {
      id: "rejectMachine",
      what: "Refuse the waiting machine with this key, for ever",
    },
    "POST /v1/nodes/{name}/register": {
      id: "registerNode",
      what: "Have the next report register the Node again, even a deleted one",
    },
    "POST /v1/nodes/{name}/believe": {
      id: "believeMachine",
      what: "Trust the machine again: end `cloned` or `two shims`, since one machine alone has the key now",
    },
    "POST /v1/nodes/{name}/revoke": {
      id: "revokeMachine",
      what: "Refuse all keys of a name, for ever",
      more: "Its Node stays and goes NotReady. It can be repeated.",
    },
    "PATCH /v1/nodes/{name}": {
      id: "changeNode",
      what: "Set whether a machine needs a container runtime",
    },
    "DELETE /v1/nodes/{name}": {
      id: "forgetMachine",
      what: "Remove a machine's lease and Node, and forget the machine",
      more: "It can be repeated, and then completes what the first request did not.",
    },
  }),
  ...grouped("machines", {
    "PUT /v1/nodes/{name}/enrolment": {
      id: "enrol",
      what: "Pin a machine's key to its name",
      more: "Both keys sign the challenge of the first answer.",
      answers: { 200: json("The name belongs to this key.", "Enrolment", enrolled) },
    },
    "POST /v1/nodes/{name}/report": {
      id: "report",
      what: "Report a machine's facts and vitals",
      more: "With the header `rollcall-transport: socket` the answer may name the path of a socket.",
      answers: { 200: json("The report is accepted; with the time of the next one.", "Report", reported) },
    },
    "POST /v1/nodes/{name}/rotate": {
      id: "rotate",
      what: "Pin the machine's next key in addition to the one that signs",
      answers: { 200: json("The next key is pinned.", "Rotation", rotated) },
    },
    "POST /v1/nodes/{name}/leave": {
      id: "leave",
      what: "Remove the machine's Node, and forget the machine",
      answers: { 200: json("The Node is gone, and the key is refused from now on.", "Leave", left) },
    },
    "POST /v1/nodes/{name}/upgrade": {
      id: "askForUpgrade",
      what: "Ask whether to upgrade the shim, and to which version",
      more: "A machine that gets a version counts as under way until it reports with it.",
      answers: { 200: json("The version, or why the machine keeps its own.", "Upgrade", upgrade) },
    },
    "GET /v1/gateways/{gateway}/nodes/{name}": {
      id: "openSocket",
      what: "Continue to report over a WebSocket, at the path in the last answer",
      more: "docs/protocol.md describes its messages.",
      about: { t: "The ticket in that path: it works once, within two minutes." },
      answers: { 101: { what: "The WebSocket." } },
    },
  }),
};
