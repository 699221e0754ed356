// The machines' routes. docs/protocol.md is normative: what is signed, tickets, and how refusals are answered.
import * as z from "zod/mini";
import {
  type EnrolmentAnswer,
  type LeaveAnswer,
  PHASES,
  type ReportAnswer,
  type RotationAnswer,
  REASONS_TO_STAY,
  type UpgradeAnswer,
} from "../../../shared/protocol/answers.ts";
import {
  connectQuerySchema,
  enrolmentSchema,
  rotationSchema,
  upgradeSchema,
} from "../../../shared/protocol/claims.ts";
import { reportSchema } from "../../../shared/protocol/report.ts";
import { json, query, type Route } from "../route.ts";

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

const SIGNED = ["invalid-json", "key-revoked", "ticket-stale"] as const;

export const MACHINE_ROUTES: readonly Route[] = [
  {
    method: "PUT",
    path: "/v1/nodes/{name}/enrolment",
    id: "enrol",
    group: "machines",
    who: "machine",
    what: "Pin a machine's key to its name",
    more: "Both keys sign the challenge that the first answer carries.",
    wakes: true,
    body: enrolmentSchema,
    answers: { 200: json("The name is this key's.", "Enrolment", enrolled) },
    refusals: ["token-refused", "challenge-stale", "shim-too-old", "name-pinned"],
  },
  {
    method: "POST",
    path: "/v1/nodes/{name}/report",
    id: "report",
    group: "machines",
    who: "machine",
    what: "Report what a machine is and how it does",
    more: "With the header `rollcall-transport: socket` the answer may name the path of a socket.",
    wakes: true,
    body: reportSchema,
    answers: { 200: json("It is taken, and when to report next.", "Report", reported) },
    refusals: [...SIGNED, "facts-unknown"],
  },
  {
    method: "POST",
    path: "/v1/nodes/{name}/rotate",
    id: "rotate",
    group: "machines",
    who: "machine",
    what: "Pin the machine's next key beside the one that signs",
    wakes: true,
    body: rotationSchema,
    answers: { 200: json("The next key is known.", "Rotation", rotated) },
    refusals: SIGNED,
  },
  {
    method: "POST",
    path: "/v1/nodes/{name}/leave",
    id: "leave",
    group: "machines",
    who: "machine",
    what: "Remove the machine's Node, and forget the machine",
    wakes: true,
    answers: { 200: json("The Node is gone, and the key is refused from now on.", "Leave", left) },
    refusals: [...SIGNED, "not-removed"],
  },
  {
    method: "POST",
    path: "/v1/nodes/{name}/upgrade",
    id: "askForUpgrade",
    group: "machines",
    who: "machine",
    what: "Ask whether to upgrade the shim, and to which version",
    more: "A machine that is given a version counts as under way until it reports with it.",
    wakes: true,
    body: upgradeSchema,
    answers: { 200: json("The version, or why it is to stay with its own.", "Upgrade", upgrade) },
    refusals: SIGNED,
  },
  {
    method: "GET",
    path: "/v1/gateways/{gateway}/nodes/{name}",
    id: "openSocket",
    group: "machines",
    who: "machine",
    what: "Go on reporting over a WebSocket, by the path that the last answer has named",
    more: "What goes over it, docs/protocol.md says.",
    query: query(connectQuerySchema, { t: "The ticket of that path: good once, for two minutes." }),
    answers: { 101: { what: "The WebSocket." } },
    refusals: ["upgrade-required", "not-found", "try-another", "invalid-query"],
  },
];
