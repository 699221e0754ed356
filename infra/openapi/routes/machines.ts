// Describes the routes about one machine, for operators and for machines. docs/protocol.md is normative for machines.
import {
  type EnrolmentAnswer,
  type LeaveAnswer,
  PHASES,
  REASONS_TO_STAY,
  type ReportAnswer,
  type RotationAnswer,
  type UpgradeAnswer,
} from "../../../shared/protocol/answers.ts";
import { ANSWER_TYPE, type PartAnswer } from "../../../shared/protocol/asking.ts";
import {
  historySchema,
  orderedClearingSchema,
  pendingSchema,
  questionsSchema,
  sendersSchema,
  wholeNodeSchema,
} from "../../../shared/protocol/operator-answers.ts";
import { clearingSchema } from "../../../shared/protocol/problems.ts";
import { timelineSchema } from "../../../shared/protocol/timeline.ts";
import { ENTRIES, grouped, json, LINES, list, PAGES } from "../description.ts";
import * as z from "zod/mini";

const reported: z.ZodMiniType<ReportAnswer> = z.object({
  phase: z.enum(PHASES),
  message: z.exactOptional(z.string()),
  ready: z.boolean(),
  ticket: z.string(),
  reportInMs: z.number(),
  factsRefused: z.exactOptional(z.object({ path: z.string(), message: z.string() })),
  clears: z.exactOptional(z.array(clearingSchema)),
  socket: z.exactOptional(z.object({ path: z.string(), withinMs: z.number() })),
  questions: z.exactOptional(
    z.array(
      z.object({
        id: z.string(),
        question: z.object({ name: z.string(), parameters: z.record(z.string(), z.string()) }),
        asker: z.string(),
        proof: z.exactOptional(z.string()),
      }),
    ),
  ),
});
const part: z.ZodMiniType<PartAnswer> = z.object({ isWanted: z.boolean(), bytes: z.number() });
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
      what: "List the machines that wait for a name that another machine has, oldest first",
      more: LINES,
      about: PAGES,
      answers: { 200: list("A page of waiting machines.", { pendingSchema }) },
    },
    "GET /v1/nodes/{name}": {
      id: "getNode",
      what: "Show all data of a machine that its object stores",
      answers: { 200: json("The data of the machine.", { node: wholeNodeSchema }) },
    },
    "GET /v1/nodes/{name}/history": {
      id: "getNodeHistory",
      what: "Show the history of a machine, newest first",
      more: "The machine's object keeps at most 10,000 entries, for at most 90 days.",
      about: ENTRIES,
      answers: { 200: list("A page of the history.", { historySchema }) },
    },
    "GET /v1/nodes/{name}/timeline": {
      id: "getNodeTimeline",
      what: "Show a machine's states and conditions over time, its events, and its available resources",
      more: "The range is at most 90 days. Times without data are absent: before `knownSince`, and between the bands of a track.",
      about: {
        since: "From this time on (RFC 3339); by default a day before `until`.",
        until: "Up to this time; by default now. It may not be later.",
      },
      answers: { 200: json("The timeline of the range.", { timelineSchema }) },
    },
    "GET /v1/nodes/{name}/clones": {
      id: "getNodeSenders",
      what: "List the senders of recent reports with a machine's key, newest first",
      answers: { 200: json("The senders.", { sendersSchema }) },
    },
    "GET /v1/nodes/{name}/questions": {
      id: "listQuestions",
      what: "List the questions that a machine answers now",
      more: "The list is empty if its owner has turned none on, if its shim is too old, and shortly after its socket opened. The list of a machine that reports over HTTP is that of its last report, without `bundle` and `follow`, and has `withinSeconds`: the seconds until it takes a question.",
      answers: { 200: json("The names of the questions.", { questionsSchema }) },
    },
    "POST /v1/nodes/{name}/questions": {
      id: "askMachine",
      what: "Ask a machine a question about itself, as its owner has allowed it",
      more: "docs/questions.md lists the questions. The question is in the audit log before it is sent. A machine that reports over HTTP gets it with the answer to its next report; `bundle` and `follow` need a socket.",
      answers: {
        200: {
          what: "The answer, while it comes: one JSON object a line, with `text`, `base64`, or as the last one `end`.",
          content: { [ANSWER_TYPE]: "text" },
        },
      },
    },
    "POST /v1/nodes/{name}/approve": {
      id: "approveMachine",
      what: "Give a name to the waiting machine with this key",
      more: "The Worker refuses the name's former key for ever.",
    },
    "POST /v1/nodes/{name}/reject": {
      id: "rejectMachine",
      what: "Refuse the waiting machine with this key, for ever",
    },
    "POST /v1/nodes/{name}/register": {
      id: "registerNode",
      what: "Make the machine's next report register its Node again, even after the Node was deleted",
    },
    "POST /v1/nodes/{name}/believe": {
      id: "believeMachine",
      what: "End the phase `cloned` or `two shims`, because only one machine uses the key again",
    },
    "POST /v1/nodes/{name}/clear": {
      id: "clearCondition",
      what: "End a condition that a problem detector of the machine holds, until the problem occurs again",
      more:
        "The machine gets the order with the answer to its next report. A silent machine gets it once it reports again. " +
        "`withdraw` takes back an order that waits.",
      answers: { 202: json("The order is stored or withdrawn.", { orderedClearingSchema }) },
    },
    "POST /v1/nodes/{name}/revoke": {
      id: "revokeMachine",
      what: "Refuse all keys of a name for ever",
      more: "The Node stays and becomes NotReady. The request can be repeated.",
    },
    "PATCH /v1/nodes/{name}": {
      id: "changeNode",
      what: "Set whether a machine needs a container runtime, or plan, begin or end its maintenance",
    },
    "DELETE /v1/nodes/{name}": {
      id: "forgetMachine",
      what: "Remove a machine's lease and Node, and forget the machine",
      more: "The request can be repeated, and then completes the removal.",
    },
  }),
  ...grouped("machines", {
    "PUT /v1/nodes/{name}/enrolment": {
      id: "enrol",
      what: "Pin a machine's key to its name",
      more: "The machine key and the join token sign the challenge of the first answer.",
      answers: { 200: json("The name belongs to this key.", { enrolment: enrolled }) },
    },
    "POST /v1/nodes/{name}/report": {
      id: "report",
      what: "Report a machine's facts and vitals",
      more: "With the header `rollcall-transport: socket` the answer may name the path of a socket.",
      answers: {
        200: json("The report is accepted. The answer has the time of the next report.", {
          report: reported,
        }),
      },
    },
    "POST /v1/nodes/{name}/rotate": {
      id: "rotate",
      what: "Pin the machine's next key in addition to its present key",
      answers: { 200: json("The next key is pinned.", { rotation: rotated }) },
    },
    "POST /v1/nodes/{name}/leave": {
      id: "leave",
      what: "Remove the machine's Node, and forget the machine",
      answers: {
        200: json("The Node is removed, and the Worker refuses the key from now on.", { leave: left }),
      },
    },
    "POST /v1/nodes/{name}/answers": {
      id: "answerQuestion",
      what: "Send parts of the answer to a question that came with the answer to a report over HTTP",
      more: "The answer states whether further parts are wanted, and how many bytes of parts may follow.",
      answers: { 200: json("What may follow.", { part }) },
    },
    "POST /v1/nodes/{name}/upgrade": {
      id: "askForUpgrade",
      what: "Request the version to which the machine should upgrade its shim",
      more: "A machine that gets a version counts as upgrading until it reports with that version.",
      answers: { 200: json("The version, or the reason to keep the present version.", { upgrade }) },
    },
    "GET /v1/gateways/{gateway}/nodes/{name}": {
      id: "openSocket",
      what: "Open a WebSocket for reports and heartbeats, at the path in the last answer to a report",
      more: "docs/protocol.md describes the messages.",
      about: { t: "The ticket in that path: it works once, within two minutes." },
      answers: { 101: { what: "The WebSocket." } },
    },
  }),
};
