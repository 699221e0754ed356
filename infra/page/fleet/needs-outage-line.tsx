// Which outage the table is filtered to, and the way back to all machines.
import type { Outage, OutageAnswer } from "../../../shared/protocol/outages.ts";
import { withRest } from "../base/route.ts";
import { usePage } from "../page.ts";
import { Link } from "../parts/link.tsx";
import { FaultNotice } from "../parts/notice.tsx";
import { Time } from "../parts/time.tsx";
import { useAnswer } from "../parts/use-answer.ts";
import { ClockTime } from "./needs-text.tsx";
import { counted } from "./needs-words.ts";

export function OutageLine({ id }: { id: number }) {
  const { live, route } = usePage();
  const told = live.outages.value.get(id);
  // The feed tells of those that last, and of what changes: one that is long over is asked for.
  const isAsked = !told && live.isKnown.value;
  const { value, fault, again } = useAnswer<OutageAnswer>(isAsked ? `/v1/outages/${id}` : null, ONE);
  const outage = told ?? value;
  const all = (
    <Link href={withRest(route.value, { outage: undefined, page: undefined })}>Show all machines</Link>
  );
  if (!outage && fault?.status === 404)
    return (
      <p class="needs-filter">
        There is no outage {id}, or it is long over. {all}
      </p>
    );
  if (!outage && fault)
    return <FaultNotice what={`Outage ${id} could not be read`} fault={fault} again={again} />;
  return (
    <p class="needs-filter">
      <span>{outage ? <OutageText outage={outage} /> : `Outage ${id}`}</span> {all}
    </p>
  );
}

const ONE = { limit: "1" };

function OutageText({ outage }: { outage: Outage }) {
  const { machines, network, startedAt, endedAt, silent, was } = outage;
  return (
    <>
      Only the outage of <strong>{counted(machines, "machine")}</strong> behind{" "}
      <span class="mono">{network}</span>,{" "}
      {endedAt === null ? (
        <>
          since <ClockTime atMs={Date.parse(startedAt)} />: {silent.toLocaleString("en")} silent yet
        </>
      ) : (
        <>
          over <Time at={endedAt} />
        </>
      )}
      {was !== "" && <span class="quiet"> ({was})</span>}.
    </>
  );
}
