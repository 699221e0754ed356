// Describes the routes over the whole fleet, and those of notifications.
import { feedTicketSchema } from "../../../shared/protocol/feed.ts";
import {
  fleetHistorySchema,
  fleetMachineSchema,
  machinesSchema,
} from "../../../shared/protocol/fleet-answers.ts";
import { outageSchema, outagesSchema } from "../../../shared/protocol/outages.ts";
import {
  changedReceiverSchema,
  lettersSchema,
  listedMuteSchema,
  mutesSchema,
  receiversSchema,
  receiverTestSchema,
} from "../../../shared/protocol/receiver-answers.ts";
import { rolloutSchema } from "../../../shared/protocol/rollout-answers.ts";
import { versionsSchema } from "../../../shared/protocol/version-answers.ts";
import { type Descriptions, DONE, json, LIMIT, LINES, list, LISTED } from "../description.ts";

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
const ADDRESSES =
  "Addresses that are private, or a metadata service's, are refused unless the deployment allows them.";

export const FLEET_DESCRIPTIONS = {
  "GET /v1/machines": {
    id: "listMachines",
    group: "fleet",
    what: "List the machines that match, and count them by state",
    more: `${LINES} The answer has an ETag.`,
    about: {
      ...FILTER,
      sort: "By `name`, `state`, `since`, `version`, `address` or `urgency`; `-since`: the other way round.",
      fields: "Which fields of each machine, separated by commas.",
      ...LISTED,
      cursor: "That of the page before.",
    },
    answers: {
      200: list("A page.", "Machines", machinesSchema),
      304: { what: "To If-None-Match: nothing has changed." },
    },
  },
  "GET /v1/history": {
    id: "getFleetHistory",
    group: "fleet",
    what: "What became of all machines, newest first",
    more: LINES,
    about: {
      since: "After this time (RFC 3339).",
      until: "At this time or before.",
      kind: "Only entries of these kinds, separated by commas.",
      name: "Only of this machine.",
      text: "Only lines that have this somewhere.",
      before: "Only what came before the entry of this ID: the next page.",
      ...LISTED,
    },
    answers: { 200: list("A page.", "FleetHistory", fleetHistorySchema) },
  },
  "GET /v1/rollout": {
    id: "getRollout",
    group: "fleet",
    what: "The rollout: which version of the shim which machines are given, and what became of those that were",
    answers: { 200: json("It; null: there is none.", "RolloutState", rolloutSchema) },
  },
  "PUT /v1/rollout": {
    id: "putRollout",
    group: "fleet",
    what: "Begin a rollout, widen it, or go on with one that has stopped",
    more: "Machines that are silent by now do not stop it again. Another version takes the place of the one before.",
    answers: { 200: json("It goes on.", "RolloutState", rolloutSchema) },
  },
  "POST /v1/rollout/stop": {
    id: "stopRollout",
    group: "fleet",
    what: "Give the version to no other machine for now",
    answers: { 200: json("It has stopped.", "RolloutState", rolloutSchema) },
  },
  "DELETE /v1/rollout": {
    id: "endRollout",
    group: "fleet",
    what: "End the rollout and forget it; machines keep what they have",
    answers: DONE,
  },
  "GET /v1/versions": {
    id: "getVersions",
    group: "fleet",
    what: "How many machines have which version of the shim, in which states, and which are behind the Worker",
    answers: { 200: json("The versions.", "Versions", versionsSchema) },
  },
  "GET /v1/nodes/{name}/summary": {
    id: "getMachine",
    group: "fleet",
    what: "What is known of a machine without waking its object",
    answers: { 200: json("The machine.", "Machine", fleetMachineSchema) },
  },
  "GET /v1/receivers": {
    id: "listReceivers",
    group: "notifications",
    what: "List who is told of what goes wrong, and how their letters fare",
    answers: { 200: json("All receivers, without their secrets.", "Receivers", receiversSchema) },
  },
  "POST /v1/receivers": {
    id: "addReceiver",
    group: "notifications",
    what: "Add a receiver",
    more: ADDRESSES,
    answers: {
      201: json(
        "The receiver: the only answer with its signing secret.",
        "ChangedReceiver",
        changedReceiverSchema,
      ),
    },
  },
  "PUT /v1/receivers/{receiver}": {
    id: "changeReceiver",
    group: "notifications",
    what: "Change a receiver",
    more: `What is absent has its default, but for \`url\` and \`authorization\`, which stay. ${ADDRESSES}`,
    answers: { 200: json("The receiver.", "ChangedReceiver", changedReceiverSchema) },
  },
  "DELETE /v1/receivers/{receiver}": {
    id: "removeReceiver",
    group: "notifications",
    what: "Remove a receiver, with its letters",
    answers: DONE,
  },
  "POST /v1/receivers/{receiver}/test": {
    id: "testReceiver",
    group: "notifications",
    what: "Send a test message, once",
    answers: { 200: json("What came back.", "ReceiverTest", receiverTestSchema) },
  },
  "GET /v1/receivers/{receiver}/letters": {
    id: "listLetters",
    group: "notifications",
    what: "List a receiver's dead letters, and those that wait",
    answers: { 200: json("The letters, oldest first.", "Letters", lettersSchema) },
  },
  "POST /v1/receivers/{receiver}/letters/{id}/resend": {
    id: "resendLetter",
    group: "notifications",
    what: "Send a dead letter again, with those that belong to it",
    answers: DONE,
  },
  "GET /v1/mutes": {
    id: "listMutes",
    group: "notifications",
    what: "List the mutes that are not over",
    answers: { 200: json("The mutes; the one that ends last is the first.", "Mutes", mutesSchema) },
  },
  "POST /v1/mutes": {
    id: "addMute",
    group: "notifications",
    what: "Keep quiet about machines for a time",
    answers: { 201: json("The mute.", "Mute", listedMuteSchema) },
  },
  "DELETE /v1/mutes/{id}": { id: "endMute", group: "notifications", what: "End a mute now", answers: DONE },
  "GET /v1/outages": {
    id: "listOutages",
    group: "fleet",
    what: "List outages: machines of one network that fell silent together; open ones first, then the latest",
    more: LINES,
    about: {
      since: "That were not over by this time (RFC 3339).",
      until: "That had begun before this time.",
      before: "The `next` of the page before.",
      ...LISTED,
    },
    answers: { 200: list("A page.", "Outages", outagesSchema) },
  },
  "GET /v1/outages/{id}": {
    id: "getOutage",
    group: "fleet",
    what: "Show an outage with its machines, by name",
    about: {
      after: "Only names that sort behind this one: the next page.",
      limit: LIMIT,
    },
    answers: { 200: json("The outage.", "Outage", outageSchema) },
  },
  "GET /v1/feed": {
    id: "openFeed",
    group: "fleet",
    what: "Follow the fleet over a WebSocket: all machines, then each change within a second",
    more: "What goes over it, docs/feed.md says. A ticket lets in as well.",
    about: { cursor: "The last one that the client has acted on." },
    answers: { 101: { what: "The WebSocket." } },
  },
  "POST /v1/feed/tickets": {
    id: "makeFeedTicket",
    group: "fleet",
    what: "Get a ticket that opens one feed within 30 seconds, for browsers, which send no header with a WebSocket",
    answers: { 201: json("The ticket.", "FeedTicket", feedTicketSchema) },
  },
} as const satisfies Partial<Descriptions>;
