// Describes the routes over the whole fleet, and the routes of notifications.
import { feedTicketSchema } from "../../../shared/protocol/feed.ts";
import {
  fleetHistorySchema,
  fleetMachineSchema,
  machinesSchema,
  rolloutSchema,
  usageSchema,
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
import { BY_NAME, ENTRIES, grouped, json, LINES, list, LISTED } from "../description.ts";

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
  "The Worker refuses private addresses and those of metadata services, unless the deployment allows them.";

export const FLEET_DESCRIPTIONS = {
  ...grouped("fleet", {
    "GET /v1/machines": {
      id: "listMachines",
      what: "List the machines that match the query, and count them by state",
      more: `${LINES} The answer has an ETag.`,
      about: {
        ...FILTER,
        sort: "By `name`, `state`, `since`, `version`, `address` or `urgency`; `-since`: the other way round.",
        fields: "The fields of each machine, separated by commas.",
        ...LISTED,
        cursor: "The cursor of the page before.",
      },
      answers: {
        200: list("A page of machines.", { machinesSchema }),
        304: { what: "The list is the same as with the ETag in If-None-Match." },
      },
    },
    "GET /v1/history": {
      id: "getFleetHistory",
      what: "Show the history of all machines, newest first",
      more: LINES,
      about: {
        ...ENTRIES,
        name: "Only of this machine.",
        text: "Only lines that contain this text.",
      },
      answers: { 200: list("A page of the history.", { fleetHistorySchema }) },
    },
    "GET /v1/rollout": {
      id: "getRollout",
      what: "Show the rollout with its version of the shim, its machines, and their results",
      answers: { 200: json("The rollout, or null if there is none.", { rolloutState: rolloutSchema }) },
    },
    "PUT /v1/rollout": {
      id: "putRollout",
      what: "Start a rollout, give it to more machines, or continue it after a stop",
      more: "Machines that are silent at the time of the request do not stop the rollout again. Another version replaces the present one.",
      answers: { 200: json("The rollout continues.", { rolloutState: rolloutSchema }) },
    },
    "POST /v1/rollout/stop": {
      id: "stopRollout",
      what: "Stop the rollout: give the version to no further machine until an operator continues",
      answers: { 200: json("The rollout has stopped.", { rolloutState: rolloutSchema }) },
    },
    "DELETE /v1/rollout": {
      id: "endRollout",
      what: "End and delete the rollout; machines keep the version of their shim",
    },
    "GET /v1/usage": {
      id: "getUsage",
      what: "List the use of CPU, memory, disks and network of the machines that send it over a socket",
      more: "The gateways answer from memory. Rates are averages between a machine's last two frames, about a minute apart.",
      about: { name: "Only this machine." },
      answers: { 200: json("The machines' usage.", { usageSchema }) },
    },
    "GET /v1/versions": {
      id: "getVersions",
      what: "Count the machines by version of the shim and state, and mark versions that are older than the Worker's",
      answers: { 200: json("The versions with their machines.", { versionsSchema }) },
    },
    "GET /v1/nodes/{name}/summary": {
      id: "getMachine",
      what: "Show the fleet index's summary of a machine, without waking its object",
      answers: { 200: json("The summary.", { machine: fleetMachineSchema }) },
    },
    "GET /v1/outages": {
      id: "listOutages",
      what: "List outages, each with the machines of one network that fell silent together. Open outages are first, then the latest",
      more: LINES,
      about: {
        since: "That had not ended at this time (RFC 3339).",
        until: "That had begun before this time.",
        before: "The `next` of the page before.",
        ...LISTED,
      },
      answers: { 200: list("A page of outages.", { outagesSchema }) },
    },
    "GET /v1/outages/{id}": {
      id: "getOutage",
      what: "Show an outage and its machines, sorted by name",
      about: BY_NAME,
      answers: { 200: json("The outage with a page of its machines.", { outageSchema }) },
    },
    "GET /v1/feed": {
      id: "openFeed",
      what: "Open a WebSocket that sends all machines, and then each change within a second",
      more: "docs/feed.md describes the messages. A ticket can replace the operator's credential.",
      about: { cursor: "The cursor of the last message that the client has processed." },
      answers: { 101: { what: "The WebSocket." } },
    },
    "POST /v1/feed/tickets": {
      id: "makeFeedTicket",
      what: "Create a ticket that opens one feed within 30 seconds",
      more: "Browsers need the ticket because they cannot send the header Authorization with a WebSocket.",
      answers: { 201: json("The ticket.", { feedTicketSchema }) },
    },
  }),
  ...grouped("notifications", {
    "GET /v1/receivers": {
      id: "listReceivers",
      what: "List the receivers of notifications, and the state of their deliveries",
      answers: { 200: json("All receivers without their secrets, sorted by name.", { receiversSchema }) },
    },
    "POST /v1/receivers": {
      id: "addReceiver",
      what: "Add a receiver",
      more: ADDRESSES,
      answers: {
        201: json("The receiver, whose signing secret no other answer has.", { changedReceiverSchema }),
      },
    },
    "PUT /v1/receivers/{receiver}": {
      id: "changeReceiver",
      what: "Change a receiver",
      more: `An absent field gets its default. Only an absent \`url\` or \`authorization\` keeps its value; a \`url\` of another origin forgets \`authorization\` and makes a new signing secret. ${ADDRESSES}`,
      answers: { 200: json("The receiver.", { changedReceiverSchema }) },
    },
    "DELETE /v1/receivers/{receiver}": {
      id: "removeReceiver",
      what: "Remove a receiver and all its deliveries",
    },
    "POST /v1/receivers/{receiver}/test": {
      id: "testReceiver",
      what: "Send a receiver one test message",
      answers: { 200: json("The receiver's answer to the test message.", { receiverTestSchema }) },
    },
    "GET /v1/receivers/{receiver}/letters": {
      id: "listLetters",
      what: "List a receiver's failed deliveries, then the waiting ones",
      answers: { 200: json("The deliveries, oldest first.", { lettersSchema }) },
    },
    "POST /v1/receivers/{receiver}/letters/{id}/resend": {
      id: "resendLetter",
      what: "Send a failed delivery again, with the end of its alerts if that failed too",
    },
    "GET /v1/mutes": {
      id: "listMutes",
      what: "List the mutes that have not ended",
      answers: { 200: json("The mutes. The latest end is first.", { mutesSchema }) },
    },
    "POST /v1/mutes": {
      id: "addMute",
      what: "Add a mute, which suppresses notifications about machines for a time",
      answers: { 201: json("The new mute.", { mute: listedMuteSchema }) },
    },
    "DELETE /v1/mutes/{id}": {
      id: "endMute",
      what: "End a mute now",
    },
  }),
};
