// Describes the routes over the whole fleet, and the routes of notifications.
import { feedTicketSchema } from "../../../shared/protocol/feed.ts";
import {
  fleetHistorySchema,
  fleetMachineSchema,
  machinesSchema,
  rolloutSchema,
  versionsSchema,
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
import { grouped, json, LIMIT, LINES, list, LISTED } from "../description.ts";

/** The meaning of each filter parameter, for every route that accepts filters. */
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
  text: "With this text in their name, addresses, labels or versions.",
  since: "Whose state began after this time (RFC 3339).",
  until: "Whose state began at this time or before.",
};
const ADDRESSES =
  "Addresses that are private, or a metadata service's, are refused unless the deployment allows them.";

export const FLEET_DESCRIPTIONS = {
  ...grouped("fleet", {
    "GET /v1/machines": {
      id: "listMachines",
      what: "List the machines that match, and count them by state",
      more: `${LINES} The answer has an ETag.`,
      about: {
        ...FILTER,
        sort: "By `name`, `state`, `since`, `version`, `address` or `urgency`; `-since`: the other way round.",
        fields: "The fields of each machine, separated by commas.",
        ...LISTED,
        cursor: "The cursor of the page before.",
      },
      answers: {
        200: list("A page.", "Machines", machinesSchema),
        304: { what: "Nothing has changed since the ETag in If-None-Match." },
      },
    },
    "GET /v1/history": {
      id: "getFleetHistory",
      what: "Show the history of all machines, newest first",
      more: LINES,
      about: {
        since: "After this time (RFC 3339).",
        until: "At this time or before.",
        kind: "Only entries of these kinds, separated by commas.",
        name: "Only of this machine.",
        text: "Only lines that contain this text.",
        before: "Only entries before the one with this ID: the next page.",
        ...LISTED,
      },
      answers: { 200: list("A page.", "FleetHistory", fleetHistorySchema) },
    },
    "GET /v1/rollout": {
      id: "getRollout",
      what: "Show the rollout: its version of the shim, its machines, and their results",
      answers: { 200: json("The rollout; null without one.", "RolloutState", rolloutSchema) },
    },
    "PUT /v1/rollout": {
      id: "putRollout",
      what: "Start a rollout, widen it, or continue one that has stopped",
      more: "Machines that are silent already do not stop it again. Another version replaces the one before.",
      answers: { 200: json("It continues.", "RolloutState", rolloutSchema) },
    },
    "POST /v1/rollout/stop": {
      id: "stopRollout",
      what: "Stop the rollout: give the version to no other machine for now",
      answers: { 200: json("It has stopped.", "RolloutState", rolloutSchema) },
    },
    "DELETE /v1/rollout": {
      id: "endRollout",
      what: "End and delete the rollout; machines keep their version",
    },
    "GET /v1/versions": {
      id: "getVersions",
      what: "Count the machines by version of the shim and state, and show which versions are behind the Worker's",
      answers: { 200: json("The versions.", "Versions", versionsSchema) },
    },
    "GET /v1/nodes/{name}/summary": {
      id: "getMachine",
      what: "Show what is known of a machine without waking its object",
      answers: { 200: json("The machine.", "Machine", fleetMachineSchema) },
    },
    "GET /v1/outages": {
      id: "listOutages",
      what: "List outages: machines of one network that fell silent together; open ones first, then the latest",
      more: LINES,
      about: {
        since: "That had not ended at this time (RFC 3339).",
        until: "That had begun before this time.",
        before: "The `next` of the page before.",
        ...LISTED,
      },
      answers: { 200: list("A page.", "Outages", outagesSchema) },
    },
    "GET /v1/outages/{id}": {
      id: "getOutage",
      what: "Show an outage and its machines, sorted by name",
      about: {
        after: "Only names after this one: the next page.",
        limit: LIMIT,
      },
      answers: { 200: json("The outage.", "Outage", outageSchema) },
    },
    "GET /v1/feed": {
      id: "openFeed",
      what: "Follow the fleet over a WebSocket: all machines, then each change within a second",
      more: "docs/feed.md describes its messages. A ticket opens it as well.",
      about: { cursor: "The last cursor that the client has handled." },
      answers: { 101: { what: "The WebSocket." } },
    },
    "POST /v1/feed/tickets": {
      id: "makeFeedTicket",
      what: "Get a ticket that opens one feed within 30 seconds, for browsers, which cannot send a header with a WebSocket",
      answers: { 201: json("The ticket.", "FeedTicket", feedTicketSchema) },
    },
  }),
  ...grouped("notifications", {
    "GET /v1/receivers": {
      id: "listReceivers",
      what: "List the receivers of notifications, and the state of their deliveries",
      answers: { 200: json("All receivers, without their secrets.", "Receivers", receiversSchema) },
    },
    "POST /v1/receivers": {
      id: "addReceiver",
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
      what: "Change a receiver",
      more: `An absent field gets its default; an absent \`url\` or \`authorization\` does not change. ${ADDRESSES}`,
      answers: { 200: json("The receiver.", "ChangedReceiver", changedReceiverSchema) },
    },
    "DELETE /v1/receivers/{receiver}": {
      id: "removeReceiver",
      what: "Remove a receiver and its deliveries",
    },
    "POST /v1/receivers/{receiver}/test": {
      id: "testReceiver",
      what: "Send a test message, once",
      answers: { 200: json("The receiver's answer.", "ReceiverTest", receiverTestSchema) },
    },
    "GET /v1/receivers/{receiver}/letters": {
      id: "listLetters",
      what: "List a receiver's dead and waiting deliveries",
      answers: { 200: json("The deliveries, oldest first.", "Letters", lettersSchema) },
    },
    "POST /v1/receivers/{receiver}/letters/{id}/resend": {
      id: "resendLetter",
      what: "Send a dead delivery again, with those that belong to it",
    },
    "GET /v1/mutes": {
      id: "listMutes",
      what: "List the mutes that have not ended",
      answers: { 200: json("The mutes, the one that ends last first.", "Mutes", mutesSchema) },
    },
    "POST /v1/mutes": {
      id: "addMute",
      what: "Send no notifications about machines for a time",
      answers: { 201: json("The mute.", "Mute", listedMuteSchema) },
    },
    "DELETE /v1/mutes/{id}": {
      id: "endMute",
      what: "End a mute now",
    },
  }),
};
