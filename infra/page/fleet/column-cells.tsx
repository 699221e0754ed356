// What a machine has in a column.
import type { ComponentChildren } from "preact";
import { CONDITION_EXPLANATIONS } from "../../../shared/fleet/explanations.ts";
import type { FeedMachine } from "../../../shared/fleet/feed-view.ts";
import { hrefOf } from "../base/route.ts";
import { shortDuration } from "../base/relative-time.ts";
import { Link } from "../parts/link.tsx";
import { StateWord } from "../parts/state-word.tsx";
import { Time } from "../parts/time.tsx";
import { amountOf, bytesText } from "../base/amounts.ts";
import { amissConditions, conditionText, type FleetColumnName, ownLabels, rolesOf } from "./columns.ts";

const NOT_KNOWN = "–";

/** What may be longer than its cell is whole in its title. */
const known = (text: string | null): ComponentChildren =>
  text ? <span title={text}>{text}</span> : NOT_KNOWN;

export const CELLS: Readonly<Record<FleetColumnName, (machine: FeedMachine) => ComponentChildren>> = {
  name: ({ name }) => (
    <Link href={hrefOf({ machine: name })} class="fleet-link" title={name}>
      {name}
    </Link>
  ),
  state: ({ state, isUnschedulable }) => (
    <>
      <StateWord state={state} />
      {isUnschedulable && (
        <span class="quiet" title="The Node is cordoned: no new pods are scheduled onto it">
          {" "}
          cordoned
        </span>
      )}
    </>
  ),
  since: ({ sinceMs }) => <Time at={sinceMs} form="since" />,
  conditions: (machine) => <Amiss machine={machine} />,
  why: ({ why }) => (why ? <span title={why}>{why}</span> : null),
  version: ({ versions }) => versions.shim || NOT_KNOWN,
  address: ({ address }) => address || NOT_KNOWN,
  age: ({ createdMs }) => <Time at={createdMs} form="age" />,
  skew: ({ skewMs }) => (skewMs === 0 ? null : `${skewMs < 0 ? "−" : "+"}${shortDuration(Math.abs(skewMs))}`),
  transport: ({ transport }) => transport,
  roles: ({ labels }) => known(rolesOf(labels).join(", ")),
  labels: ({ labels }) =>
    known(
      ownLabels(labels)
        .map(([key, value]) => `${key}=${value}`)
        .join(", "),
    ),
  kernel: ({ versions }) => known(versions.kernel),
  os: ({ versions }) => known(versions.os),
  runtime: ({ versions }) => known(versions.runtime),
  architecture: ({ versions }) => known(versions.architecture),
  cpu: ({ capacity }) => known(capacity["cpu"] ?? null),
  memory: ({ capacity }) => {
    const bytes = amountOf(capacity["memory"]);
    return known(bytes === null ? null : bytesText(bytes));
  },
};

/** The first of them, and how many more: their words are as long as they are. */
function Amiss({ machine: { conditions, why } }: { machine: FeedMachine }) {
  const amiss = amissConditions(conditions);
  const [first, ...more] = amiss;
  if (!first) return null;
  // So it is with all silent machines: which ones they are says nothing.
  if (more.length > 0 && amiss.every(({ status }) => status === "Unknown"))
    return (
      <span class="fleet-condition fleet-condition-Unknown" title={amiss.map(conditionText).join(", ")}>
        {amiss.length} unknown
      </span>
    );
  const means = first.type === "Ready" && why !== "" ? why : CONDITION_EXPLANATIONS[first.type]?.means;
  return (
    <>
      <span class={`fleet-condition fleet-condition-${first.status}`} title={means}>
        {conditionText(first)}
      </span>
      {more.length > 0 && (
        <span class="quiet" title={more.map(conditionText).join(", ")}>
          +{more.length}
        </span>
      )}
    </>
  );
}
