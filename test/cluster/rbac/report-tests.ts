// Tests that the apiserver accepts the Node of any report that the schemas accept. REPORTS sets the number of
// reports.
import * as fc from "fast-check";
import { expect, test } from "vitest";
import * as z from "zod/mini";
import { type Facts, factsSchema } from "../../../shared/protocol/facts.ts";
import { type Report, reportSchema, SIGNALS } from "../../../shared/protocol/report.ts";
import {
  reportedEvents,
  reportedInitialNode,
  reportedSetters,
} from "../../../shared/from-report/reported-node.ts";
import { labelValue } from "../../../shared/protocol/schema.ts";
import { validateNodeLabels } from "../../../shared/kubernetes/labels.ts";
import { canonicalJson } from "../../../shared/protocol/digest.ts";
import { LIMITS } from "../../../shared/protocol/limits.ts";
import { asKubelets, bystander, kubeletsView, ownSetters } from "../../../shared/node/bystander.ts";
import { OWNER_ANNOTATION, ownershipFault } from "../../../shared/node/ownership.ts";
import { type Grant, tokenRequestSchema } from "../../../shared/protocol/join-tokens.ts";
import type { ApiResult } from "../../../shared/kubernetes/api-error.ts";
import { createNodeStatusPatch } from "../../../shared/kubernetes/patch/node-status-patch.ts";
import type { Node } from "../../../shared/kubernetes/types.ts";
import { tryRegister, updateDefaultLabels } from "../../../shared/node/registration.ts";
import { NOTHING_REMEMBERED, type ReportedStatus } from "../../../shared/from-report/reported-status.ts";
import { setNodeStatus, updateNode } from "../../../shared/node/update-node.ts";
import { kubeClient } from "../../../worker/kube/kube-client.ts";

import type { TestServer } from "../../infra/local/apiserver/test-server.ts";
import { anyOf, type Hints } from "./any-value.ts";
import { failure, success } from "../../../shared/result.ts";

const FEW = 40;
const runs = Number(process.env["REPORTS"] ?? FEW);
const patienceMs = 120_000 + runs * 1000;

const amounts = fc.constantFrom(
  "0",
  "1",
  "100m",
  "1.5",
  "100Mi",
  "2Gi",
  "1e3",
  "9007199254740991",
  "8Ei",
  "1n",
);
const reservations = dictionary(fc.constantFrom("cpu", "memory", "ephemeral-storage", "pid"), amounts);
const signals = fc.constantFrom(...SIGNALS);
const thresholds = dictionary(signals, fc.oneof(amounts, fc.constantFrom("5%", "0.1%", "100%", "99.9%")));
/** Keys of labels: those that a node may set, and others that it may not. */
const labelKeys = anyOf(
  z.string().check(z.refine((key) => validateNodeLabels({ [key]: "" }) === null)),
  {},
) as fc.Arbitrary<string>;
const nodeLabels = fc.oneof(
  dictionary(labelKeys, anyOf(labelValue, {}) as fc.Arbitrary<string>),
  fc.constant(Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`example.com/l${index}`, "x"]))),
);
const featureTexts = fc.oneof(
  fc.constantFrom("AVX512F", "0300", "10de", "a b", "x".repeat(128)),
  fc.string(),
);
const features = fc.record({
  flags: fc.record({ "cpu.cpuid": fc.array(featureTexts, { maxLength: 300 }) }),
  attributes: fc.record({ "local.label": fc.dictionary(featureTexts, featureTexts) }),
  instances: fc.record({
    "pci.device": fc.record({
      attributes: fc.constant(["class", "vendor"]),
      rows: fc.array(fc.tuple(featureTexts, featureTexts), { maxLength: 100 }),
    }),
  }),
});
const hints: Hints = {
  features: fc.option(features, { nil: undefined }),
  nodeLabels,
  labels: nodeLabels,
  systemReserved: reservations,
  kubeReserved: reservations,
  evictionHard: thresholds,
  evictionMinimumReclaim: thresholds,
  evictionSoft: thresholds,
  evictionSoftGracePeriod: dictionary(signals, fc.constantFrom("0s", "1m30s", "24h")),
  reservedSystemCPUs: fc.constantFrom("", "0", "0-3,8", "0-65535"),
  machineTime: fc.constant("2026-03-14T15:09:26.123+02:00"),
  factsDigest: fc.constant("d".repeat(43)),
  facts: fc.constant(undefined),
};

function dictionary(keys: fc.Arbitrary<string>, values: fc.Arbitrary<string>) {
  return fc.option(fc.dictionary(keys, values, { maxKeys: 4 }), { nil: undefined });
}

const sized = (schema: z.core.$ZodType) => fc.oneof(anyOf(schema, hints), anyOf(schema, hints, true));
const facts = sized(factsSchema).filter(
  (value) => Buffer.byteLength(canonicalJson(value)) < LIMITS.bodyBytes,
) as fc.Arbitrary<Facts>;
const reports = sized(reportSchema) as fc.Arbitrary<Report>;
/** A join token's fields as the registry stores them, with the defaults. */
const { withoutFactsOnlyTaint, labels, taints, roles } = tokenRequestSchema.shape;
const grantSchema = z.strictObject({ withoutFactsOnlyTaint, labels, taints, roles });
const grants = sized(grantSchema).map((value) => grantSchema.parse(value)) as fc.Arbitrary<Grant>;

/** Defines the tests. `started`: a server, and a token of the Worker's account. */
export function describeReports(started: () => { server: TestServer; token: string }): void {
  test(
    `the Node of any report is created, updated, and found again by the next process (${runs} reports)`,
    async () => {
      const { server, token } = started();
      const client = () =>
        kubeClient({
          fetch: (url, init) => server.fetch(new Request(url, init)),
          url: server.url,
          token: () => token,
          fieldManager: "rollcall.rollcall",
          withinMs: 60_000,
          nowMs: () => performance.now(),
        });
      let made = 0;
      await fc.assert(
        fc.asyncProperty(
          facts,
          facts,
          reports,
          reports,
          grants,
          async (first, next, report, later, grant) => {
            const name = `any-report-${++made}`;
            const before = statusOf(name, first, report);
            const after = statusOf(name, next, later);
            const created = await register(client(), before, grant);
            if (created === null) return;
            const update = updateNode(
              created,
              () => success(false),
              next.platform.os,
              next.platform.architecture,
              [asKubelets, ...reportedSetters(after), ...reportedEvents(after), ...ownSettersOf(grant)],
            );
            const patch = createNodeStatusPatch(created, update.node);
            if (!patch.ok) throw new Error(patch.error);
            const patched = taken(await client().patchNodeStatus(created, patch.value));
            await register(client(), after, grant);
            taken(await client().deleteNode(name, patched.metadata?.uid ?? ""));
          },
        ),
        { numRuns: runs },
      );
      expect(made).toBeGreaterThanOrEqual(runs);
    },
    patienceMs,
  );
}

function statusOf(name: string, reported: Facts, { vitals }: Report): ReportedStatus {
  const memory = structuredClone(NOTHING_REMEMBERED);
  const nowMs = Date.parse("2026-03-14T15:09:26Z");
  return { name, facts: reported, vitals, nowMs, memory, recordEvent: () => undefined };
}

function ownSettersOf(enrolment: Grant) {
  return ownSetters(
    { enrolment, marks: { deployment: "rollcall", roles: ["edge"] } },
    "rollcall.rollcall",
    "moved",
  );
}

/** Registers a Node as the Worker does, and returns the stored Node; null if the report does not allow a Node yet. */
async function register(
  client: ReturnType<typeof kubeClient>,
  reported: ReportedStatus,
  grant: Grant,
): Promise<Node | null> {
  const initial = reportedInitialNode(reported, grant);
  if (!initial.ok) return null;
  const { node } = initial.value;
  setNodeStatus(node, ownSettersOf(grant));
  node.metadata.annotations = { ...node.metadata.annotations, [OWNER_ANNOTATION]: "rollcall" };
  const registered = await tryRegister(
    client,
    node,
    (existing) => {
      const message = ownershipFault(existing, "rollcall");
      return Promise.resolve(message === null ? success(existing) : failure({ reason: "not ours", message }));
    },
    () => reported.facts.devices?.recorded === false,
    (existing, reconciled) => {
      // The existing Node keeps its taints, and with them the form of its labels: see worker/tick/registration.ts.
      reconciled.metadata.labels = { ...existing.metadata?.labels };
      asKubelets(reconciled);
      updateDefaultLabels(kubeletsView(node), reconciled);
      bystander(grant.withoutFactsOnlyTaint, "moved", existing)(reconciled);
    },
  );
  if (!registered.ok) throw new Error(JSON.stringify(registered.error));
  expect(registered.value).toMatchObject({ node: { metadata: { name: reported.name } } });
  return registered.value.node;
}

function taken<T>(answer: ApiResult<T>): T {
  if (!answer.ok) throw new Error(JSON.stringify(answer.error));
  return answer.value;
}
