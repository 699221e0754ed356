// Draws the feature rules of the deployment: the machines that each rule matches, the rollout, and who applied what.
import type { RulesAnswer, RulesRollout } from "../../../shared/protocol/rules.ts";
import { hrefOf } from "../base/places.ts";
import { AnsweredSection, usePolled } from "../parts/answer.tsx";
import { Link } from "../parts/link.tsx";
import { CardTable, type Column } from "../parts/table.tsx";
import { Time } from "../parts/time.tsx";

/** Milliseconds between two requests during a rollout. */
const POLL_MS = 2000;

export function Rules() {
  const { now: again, ...polled } = usePolled<RulesAnswer>("/v1/rules", ({ rollout }) =>
    rollout?.state === "running" ? POLL_MS : null,
  );
  return (
    <AnsweredSection
      id="rules"
      title="Feature rules"
      answer={{ ...polled, isLoading: false, again }}
      what="The feature rules could not be read"
    >
      {(rules) =>
        rules.revision === 0 ? (
          <p class="card">
            There are none. <code>rollcall rules apply -f FILE</code> applies the rules of
            node-feature-discovery.
          </p>
        ) : (
          <>
            {rules.rollout && <Rollout {...rules.rollout} />}
            <CardTable
              label="Feature rules"
              rows={rules.matches}
              columns={columnsOf(rulesByName(rules.objects))}
              keyOf={({ rule }) => rule}
              none={
                <>
                  All were deleted. <code>rollcall rules undo</code> returns to the revision before.
                </>
              }
            />
            <h3>Revisions of the rules</h3>
            <CardTable
              label="Revisions of the rules"
              rows={rules.revisions}
              columns={REVISIONS}
              keyOf={({ revision }) => revision}
            />
          </>
        )
      }
    </AnsweredSection>
  );
}

function Rollout({ state, machines, done, changed, mayChange, failed }: RulesRollout) {
  return (
    <p class="card">
      <span class={state === "stopped" ? "check-failed" : undefined}>Rollout {state}</span>:{" "}
      {(done - failed).toLocaleString("en")} of {machines.toLocaleString("en")} machines follow; Nodes
      changed: {changed.toLocaleString("en")}
      {failed > 0 && `; without an answer, to follow within a day: ${failed.toLocaleString("en")}`}.
      {state === "stopped" && (
        <>
          {" "}
          More than {mayChange.toLocaleString("en")} Nodes would change. <code>rollcall rules continue</code>{" "}
          continues, <code>rollcall rules undo</code> goes back.
        </>
      )}
    </p>
  );
}

type Match = RulesAnswer["matches"][number];

const columnsOf = (rules: ReadonlyMap<string, RuleParts>): readonly Column<Match>[] => [
  { head: "Rule", class: "mono wrap", isRowHead: true, cell: ({ rule }) => rule },
  {
    head: "Gives Nodes",
    class: "mono wrap",
    cell: ({ rule }) => partsOf(rules.get(rule)).join(", ") || "–",
  },
  {
    head: "Machines",
    class: "number",
    cell: ({ rule, machines }) => {
      const search = searchOf(rules.get(rule));
      const count = machines.toLocaleString("en");
      return search === null ? count : <Link href={hrefOf({ view: "fleet" }, { q: search })}>{count}</Link>;
    },
  },
];

/** A key that is null has no effect: the rules are as their file has them. */
type Texts = Readonly<Record<string, string | null>> | null;

/** The fields of an object that the page draws. The Worker has checked the objects. */
interface RuleObject {
  metadata: { name: string };
  spec: { rules: RuleParts[] };
}
interface RuleParts {
  name: string;
  labels?: Texts;
  labelsTemplate?: string;
  annotations?: Texts;
  extendedResources?: Texts;
  taints?: readonly { key: string; value?: string; effect: string }[] | null;
}

/** Returns the rules by the names that GET /v1/rules has for them: `object/rule`. Of one name, the first rule counts. */
export const rulesByName = (objects: readonly unknown[]): ReadonlyMap<string, RuleParts> =>
  new Map(
    (objects as readonly RuleObject[])
      .flatMap(({ metadata, spec }) =>
        spec.rules.map((each) => [`${metadata.name}/${each.name}`, each] as const),
      )
      .toReversed(),
  );

/** The most parts of a rule that its row lists. */
const MOST_PARTS = 5;

/** Returns what a rule gives the Nodes of its machines, such as `gpu=true` and `taint gpu=true:NoSchedule`. */
export function partsOf(rule: RuleParts | undefined): string[] {
  const pairs = (texts: Texts | undefined, kind = "") =>
    Object.entries(texts ?? {}).flatMap(([key, value]) => (value === null ? [] : [`${kind}${key}=${value}`]));
  const parts = [
    ...pairs(rule?.labels),
    ...(rule?.labelsTemplate ? ["labels of a template"] : []),
    ...pairs(rule?.annotations, "annotation "),
    ...pairs(rule?.extendedResources, "resource "),
    ...(rule?.taints ?? []).map(
      ({ key, value, effect }) => `taint ${key}${value ? `=${value}` : ""}:${effect}`,
    ),
  ];
  const more = parts.length - MOST_PARTS;
  return more > 0 ? [...parts.slice(0, MOST_PARTS), `${more} more`] : parts;
}

/** Returns a search for the machines of a rule, by a label that the rule always sets; null if it sets none. */
export function searchOf(rule: RuleParts | undefined): string | null {
  // The value of `@feature.element` differs by machine.
  const label = Object.entries(rule?.labels ?? {}).find(
    ([, value]) => value !== null && /^[\w.-]+$/.test(value),
  );
  if (!label) return null;
  const [key, value] = label;
  return `${key.includes("/") ? key : `feature.node.kubernetes.io/${key}`}=${value}`;
}

const REVISIONS: readonly Column<RulesAnswer["revisions"][number]>[] = [
  { head: "Revision", isRowHead: true, cell: ({ revision }) => revision },
  { head: "By", class: "wrap", cell: ({ createdBy }) => createdBy },
  { head: "When", class: "unbroken", cell: ({ createdAt }) => <Time at={createdAt} /> },
  { head: "Back to", cell: ({ backTo }) => backTo ?? "–" },
  { head: "Objects", class: "mono wrap", cell: ({ objects }) => objects.join(", ") || "–" },
];
