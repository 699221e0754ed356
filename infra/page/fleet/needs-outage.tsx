// Draws outages on the fleet view: a line per open outage with its machines, and one for the table's filter.
import { useComputed, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import type { Outage, OutageAnswer } from "../../../shared/protocol/outages.ts";
import { hrefOf, withRest } from "../base/places.ts";
import { absolute } from "../base/relative-time.ts";
import { usePage } from "../page.ts";
import { useAnswer } from "../parts/answer.tsx";
import { Link } from "../parts/link.tsx";
import { FaultNotice } from "../parts/notice.tsx";
import { StateSign } from "../parts/state-word.tsx";
import { Time } from "../parts/time.tsx";
import type { OpenOutage } from "./needs-list.ts";
import { clockText, counted, OUTAGE_TODO, outageCount } from "./needs-words.ts";

/** The number of machines that an outage lists. The table has all of them. */
const MACHINES_LISTED = 60;

export function OutageEntry({ entry: { outage, startedMs, machines } }: { entry: OpenOutage }) {
  const isOpen = useSignal(false);
  const more = outage.silent - Math.min(machines.length, MACHINES_LISTED);
  return (
    <li class="needs-outage">
      <details onToggle={({ currentTarget }) => (isOpen.value = currentTarget.open)}>
        <summary>
          <StateSign state="silent" />
          <strong>{outageCount(outage)}</strong> not reporting since <ClockTime atMs={startedMs} /> behind{" "}
          <span class="mono">{outage.network}</span>{" "}
          <span class="quiet">— probably their power or network</span>
        </summary>
        {isOpen.value && (
          <div class="needs-inside">
            <p>{OUTAGE_TODO}</p>
            <ul class="needs-names">
              {machines.slice(0, MACHINES_LISTED).map(({ name }) => (
                <li key={name}>
                  <Link href={hrefOf({ machine: name })}>{name}</Link>
                </li>
              ))}
            </ul>
            <p>
              <TableLink shows={{ outage: String(outage.id) }}>
                {more > 0
                  ? `and ${more.toLocaleString("en")} more: show all in the table`
                  : "Show them in the table"}
              </TableLink>
            </p>
          </div>
        )}
      </details>
    </li>
  );
}

/** Draws the line above the table while the table is filtered by an outage. */
export function OutageLine({ id }: { id: number }) {
  const { live, route } = usePage();
  const fromFeed = live.outages.value.get(id);
  // The feed lacks outages that ended before the page was opened, so the Worker is asked for such an outage.
  const isMissing = !fromFeed && live.isKnown.value;
  const { value, fault, again } = useAnswer<OutageAnswer>(isMissing ? `/v1/outages/${id}` : null, ONE);
  const outage = fromFeed ?? value;
  const all = (
    <Link href={withRest(route.value, { outage: undefined, page: undefined })}>Show all machines</Link>
  );
  if (!outage && fault?.status === 404)
    return (
      <p class="needs-filter">
        There is no outage {id}, or it ended long ago. {all}
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
          since <ClockTime atMs={Date.parse(startedAt)} />: {silent.toLocaleString("en")} still not reporting
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

/** Draws a time like `14:03`, with the exact time as a tooltip. */
function ClockTime({ atMs }: { atMs: number }) {
  const { clock } = usePage();
  const text = useComputed(() => clockText(atMs, clock.value));
  return (
    <time dateTime={new Date(atMs).toISOString()} title={absolute(atMs)}>
      {text}
    </time>
  );
}

interface TableLinkProps {
  /** The parameters of the fleet's URL that the link sets. Clicking the link removes all other filters. */
  shows: Readonly<Record<string, string>>;
  children: ComponentChildren;
}

/** Draws a link that filters the table and scrolls to it. */
export function TableLink({ shows, children }: TableLinkProps) {
  const { route } = usePage();
  const all = { q: undefined, state: undefined, outage: undefined, page: undefined, ...shows };
  const toTable = () => document.querySelector(".counts")?.scrollIntoView({ block: "start" });
  return (
    <Link href={withRest(route.value, all)} onOpen={toTable}>
      {children}
    </Link>
  );
}
