// Describes the routes about one machine, for operators and for machines themselves. docs/protocol.md is normative for the latter.
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
import { type Descriptions, DONE, FORMAT, json, list, LISTED } from "../description.ts";
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
  "GET /v1/pending": {
    id: "listPending",
    group: "nodes",
    what: "List the machines that wait for a name that another key has, oldest first",
    about: FORMAT,
    answers: { 200: list("All that wait.", "Pending", pendingSchema) },
  },
  "GET /v1/nodes/{name}": {
    id: "getNode",
    group: "nodes",
    what: "All that is known of a machine",
    answers: { 200: json("The machine.", "Node", wholeNodeSchema) },
  },
  "GET /v1/nodes/{name}/history": {
    id: "getNodeHistory",
    group: "nodes",
    what: "What became of a machine, newest first",
    more: "At most 10,000 entries and 90 days are kept.",
    about: {
      since: "After this time (RFC 3339).",
      until: "At this time or before.",
      before: "Only what came before the entry of this ID: the next page.",
      kind: "Only entries of these kinds, separated by commas.",
      ...LISTED,
    },
    answers: { 200: list("A page.", "History", historySchema) },
  },
  "GET /v1/nodes/{name}/timeline": {
    id: "getNodeTimeline",
    group: "nodes",
    what: "What was so on a machine from when to when, what happened, and what it had left of its resources",
    more: "A range of 90 days at most. What nobody knows is absent: before `knownSince`, and between the bands of a track.",
    about: {
      since: "From this time on (RFC 3339); a day before `until` where it is absent.",
      until: "Up to this time; now where it is absent. It may not be later.",
    },
    answers: { 200: json("The range.", "Timeline", timelineSchema) },
  },
  "GET /v1/nodes/{name}/clones": {
    id: "getNodeSenders",
    group: "nodes",
    what: "Who reported with a machine's key of late, newest first",
    answers: { 200: json("The senders.", "Senders", sendersSchema) },
  },
  "POST /v1/nodes/{name}/approve": {
    id: "approveMachine",
    group: "nodes",
    what: "Give a name to the waiting machine with this key",
    more: "The key before it is refused for ever.",
    answers: DONE,
  },
  "POST /v1/nodes/{name}/reject": {
    id: "rejectMachine",
    group: "nodes",
    what: "Refuse the waiting machine with this key, for ever",
    answers: DONE,
  },
  "POST /v1/nodes/{name}/register": {
    id: "registerNode",
    group: "nodes",
    what: "Have the next report register the Node again, even a deleted one",
    answers: DONE,
  },
  "POST /v1/nodes/{name}/believe": {
    id: "believeMachine",
    group: "nodes",
    what: "End `cloned` or `two shims`: one machine alone has the key again",
    answers: DONE,
  },
  "POST /v1/nodes/{name}/revoke": {
    id: "revokeMachine",
    group: "nodes",
    what: "Refuse all keys of a name, for ever",
    more: "Its Node stays and goes NotReady. It can be repeated.",
    answers: DONE,
  },
  "PATCH /v1/nodes/{name}": {
    id: "changeNode",
    group: "nodes",
    what: "Say whether a machine needs a container runtime",
    answers: DONE,
  },
  "DELETE /v1/nodes/{name}": {
    id: "forgetMachine",
    group: "nodes",
    what: "Remove a machine's lease and Node, and forget the machine",
    more: "It can be repeated, and then completes what the first request did not.",
    answers: DONE,
  },
  "PUT /v1/nodes/{name}/enrolment": {
    id: "enrol",
    group: "machines",
    what: "Pin a machine's key to its name",
    more: "Both keys sign the challenge that the first answer carries.",
    answers: { 200: json("The name is this key's.", "Enrolment", enrolled) },
  },
  "POST /v1/nodes/{name}/report": {
    id: "report",
    group: "machines",
    what: "Report what a machine is and how it does",
    more: "With the header `rollcall-transport: socket` the answer may name the path of a socket.",
    answers: { 200: json("It is taken, and when to report next.", "Report", reported) },
  },
  "POST /v1/nodes/{name}/rotate": {
    id: "rotate",
    group: "machines",
    what: "Pin the machine's next key beside the one that signs",
    answers: { 200: json("The next key is known.", "Rotation", rotated) },
  },
  "POST /v1/nodes/{name}/leave": {
    id: "leave",
    group: "machines",
    what: "Remove the machine's Node, and forget the machine",
    answers: { 200: json("The Node is gone, and the key is refused from now on.", "Leave", left) },
  },
  "POST /v1/nodes/{name}/upgrade": {
    id: "askForUpgrade",
    group: "machines",
    what: "Ask whether to upgrade the shim, and to which version",
    more: "A machine that is given a version counts as under way until it reports with it.",
    answers: { 200: json("The version, or why it is to stay with its own.", "Upgrade", upgrade) },
  },
  "GET /v1/gateways/{gateway}/nodes/{name}": {
    id: "openSocket",
    group: "machines",
    what: "Go on reporting over a WebSocket, by the path that the last answer has named",
    more: "What goes over it, docs/protocol.md says.",
    about: { t: "The ticket of that path: good once, for two minutes." },
    answers: { 101: { what: "The WebSocket." } },
  },
} as const satisfies Partial<Descriptions>;
