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
              columns={columnsOf(rules.objects)}
              keyOf={({ rule }) => rule}
              none={
                <>
                  All were deleted. <code>rollcall rules undo</code> returns to the revision before.
                </>
              }
            />
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

const columnsOf = (objects: readonly unknown[]): readonly Column<Match>[] => [
  { head: "Rule", class: "mono wrap", isRowHead: true, cell: ({ rule }) => rule },
  {
    head: "Machines",
    class: "number",
    cell: ({ rule, machines }) => {
      const search = searchOf(objects, rule);
      const count = machines.toLocaleString("en");
      return search === null ? count : <Link href={hrefOf({ view: "fleet" }, { q: search })}>{count}</Link>;
    },
  },
];

/** The fields of an object that a search needs. The Worker has checked the objects. */
interface LabellingObject {
  metadata: { name: string };
  spec: { rules: { name: string; labels?: Record<string, string> | null }[] };
}

/** Returns a search for the machines of `object/rule`, by a label that the rule always sets; null if it sets none. */
export function searchOf(objects: readonly unknown[], rule: string): string | null {
  const named = (objects as readonly LabellingObject[]).flatMap(({ metadata, spec }) =>
    spec.rules.filter(({ name }) => `${metadata.name}/${name}` === rule),
  );
  // The value of `@feature.element` differs by machine.
  const label = Object.entries(named[0]?.labels ?? {}).find(([, value]) => /^[\w.-]+$/.test(value));
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
