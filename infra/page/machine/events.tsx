// Draws the machine's events: those that wait for the apiserver, and the last ones that were sent.
import type { ShownEvent, WholeNode } from "../../../shared/protocol/operator-answers.ts";
import { type Column, DataTable } from "../parts/table.tsx";
import { Time } from "../parts/time.tsx";
import { MarkedText } from "../parts/command.tsx";
import { Nothing, Section } from "./section.tsx";

export function EventsSection({ whole: { name, events, outbox } }: { whole: WholeNode }) {
  return (
    <Section
      id="events"
      aside={
        outbox.waiting > 0 && (
          <span class="quiet">
            {outbox.waiting} waiting since <Time at={outbox.oldest} form="absolute" />
          </span>
        )
      }
    >
      {outbox.dropped > 0 && (
        <Nothing>{outbox.dropped} were dropped: the apiserver did not take them in time.</Nothing>
      )}
      {events === undefined || events.length === 0 ? (
        <p class="quiet">
          {events ? "No recent ones." : "This Worker does not list them."} What the cluster has:{" "}
          <MarkedText text={`\`kubectl events --for node/${name}\``} name={name} />
        </p>
      ) : (
        <DataTable
          label="Events"
          rows={events}
          columns={COLUMNS}
          keyOf={({ reason, message, firstAt, state }) => `${reason} ${message} ${firstAt} ${state}`}
        />
      )}
    </Section>
  );
}

const COLUMNS: readonly Column<ShownEvent>[] = [
  { head: "Last", class: "unbroken", cell: ({ lastAt }) => <Time at={lastAt} /> },
  {
    head: "Reason",
    class: "unbroken",
    isRowHead: true,
    cell: ({ type, reason }) => (
      <span class={type === "Warning" ? "machine-warn" : undefined}>
        {type === "Warning" && <span aria-label="Warning">▲ </span>}
        {reason}
      </span>
    ),
  },
  {
    head: "Message",
    class: "wrap",
    cell: ({ message, count, firstAt }) => (
      <>
        {message}
        {count > 1 && (
          <span class="quiet">
            {" "}
            {count} times since <Time at={firstAt} form="absolute" />
          </span>
        )}
      </>
    ),
  },
  {
    head: "State",
    cell: ({ state }) => <span class={state === "waiting" ? "machine-warn" : "quiet"}>{state}</span>,
  },
];
