// Draws the page's parts in all their states, with made-up contents, for the pixel tests of test/page/kit.test.ts.
import { type ComponentChildren, render } from "preact";
import { absolute } from "../../../../infra/page/base/relative-time.ts";
import { TimelineBoard } from "../../../../infra/page/machine/timeline-board.tsx";
import type { DrawnBand, DrawnTimeline } from "../../../../infra/page/machine/timeline-data.ts";
import { BandLegend, BandPatterns, TimelineRows } from "../../../../infra/page/machine/timeline-rows.tsx";
import { openPage, PageProvider } from "../../../../infra/page/page.ts";
import { MarkedText } from "../../../../infra/page/parts/command.tsx";
import { Check, Choice, Field } from "../../../../infra/page/parts/form.tsx";
import { FaultNotice, Notice } from "../../../../infra/page/parts/notice.tsx";
import { Pairs } from "../../../../infra/page/parts/pairs.tsx";
import { StateWord } from "../../../../infra/page/parts/state-word.tsx";
import { CardTable, type Column, DataTable } from "../../../../infra/page/parts/table.tsx";
import { Moment, Time } from "../../../../infra/page/parts/time.tsx";
import { FLEET_STATES } from "../../../../shared/fleet/state.ts";

const MINUTE = 60_000;
/** The present time of the kit, in milliseconds since 1970, which test/page/kit.ts sets. */
const NOW = Date.now();

interface Row {
  name: string;
  state: string;
  count: number;
  atMs: number;
  text: string;
}

const COLUMNS: readonly Column<Row>[] = [
  { head: "Name", class: "wrap", isRowHead: true, cell: ({ name }) => name },
  { head: "State", class: "unbroken", cell: ({ state }) => <StateWord state={state} /> },
  { head: "Count", class: "number", cell: ({ count }) => count },
  { head: "When", class: "unbroken", cell: ({ atMs }) => <Time at={atMs} /> },
  { head: "Message", class: "wrap", cell: ({ text }) => text },
];
const PLAIN: readonly Column<Row>[] = [
  { head: "When", class: "unbroken", cell: ({ atMs }) => <Time at={atMs} form="absolute" /> },
  { head: "Labels and taints", class: "mono wrap", cell: ({ name }) => name },
];
const LONG = "machine-with-a-name-of-63-characters-as-long-as-kubernetes-allow";
const ROWS: readonly Row[] = [
  { name: "edge-1", state: "ready", count: 1, atMs: NOW - 59_000, text: "–" },
  {
    name: LONG,
    state: "not-ready",
    count: 12_345,
    atMs: NOW - 60_000,
    text: "container runtime is down: the socket /run/containerd/containerd.sock refuses connections",
  },
  {
    name: "آلة-واحدة",
    state: "cluster-unreachable",
    count: 0,
    atMs: NOW - 3 * 3600_000,
    text: "a-message-without-a-space-that-a-machine-may-write-and-that-widens-no-box-whatever-its-length-is",
  },
];

const table = (label: string, rows: readonly Row[]) => (
  <CardTable
    label={label}
    rows={rows}
    columns={COLUMNS}
    keyOf={({ name }) => name}
    rowClass={({ count }) => (count === 0 ? "over" : undefined)}
    actions={({ count }) => count > 0 && <button type="button">Revoke</button>}
  />
);

const band = (track: string, from: number, to: number, status: string, text = ""): DrawnBand => ({
  track,
  fromMs: NOW - from * MINUTE,
  toMs: NOW - to * MINUTE,
  status,
  text,
  isOpen: to === 0,
});
const TIMELINE: DrawnTimeline = {
  fromMs: NOW - 60 * MINUTE,
  toMs: NOW,
  knownSinceMs: NOW - 50 * MINUTE,
  isCut: false,
  bands: [
    band("state", 50, 30, "ready"),
    band("state", 30, 20, "not-ready"),
    band("state", 20, 15, "blocked"),
    band("state", 15, 0, "silent"),
    band("Ready", 50, 30, "True"),
    band("Ready", 30, 15, "False", "KubeletNotReady: container runtime is down"),
    band("Ready", 15, 0, "silent", "was False"),
    band("MemoryPressure", 50, 40, "False"),
    band("MemoryPressure", 40, 39.99, "True"),
    band("MemoryPressure", 39.99, 15, "False"),
    band("MemoryPressure", 15, 0, "silent", "was True"),
  ],
  marks: [
    { atMs: NOW - 50 * MINUTE, kind: "registration", text: "registered" },
    { atMs: NOW - 30 * MINUTE, kind: "reboot", text: "started again" },
    { atMs: NOW - 30 * MINUTE + 1000, kind: "version", text: "0.1.0 → 0.2.0" },
  ],
  samples: { signals: [], at: [], values: {} },
  thresholds: {},
  capacity: {},
};

const none = () => {};

/** The parts, each with its title. */
const PARTS: readonly (readonly [title: string, part: ComponentChildren])[] = [
  [
    "Buttons and words",
    <>
      <div class="row">
        <button type="button">Neutral</button>
        <button type="button" class="primary">
          Primary
        </button>
        <button type="button" class="danger">
          Dangerous
        </button>
        <button type="button" disabled>
          Disabled
        </button>
        <span class="tag">tag</span>
        <span class="badge">3</span>
        <kbd>?</kbd>
      </div>
      <div class="row">
        {[...FLEET_STATES, "of a newer Worker"].map((state) => (
          <StateWord key={state} state={state} />
        ))}
      </div>
    </>,
  ],
  [
    "Notices",
    <>
      <FaultNotice
        what="The tokens could not be listed"
        fault={{ reason: "no-answer", message: "no answer within 15 seconds", status: 0 }}
        again={none}
      />
      <Notice kind="warning">A warning, in one sentence.</Notice>
      <Notice kind="quiet">A note, in one sentence.</Notice>
    </>,
  ],
  ["A table", table("Many", ROWS)],
  ["A table with one row", table("One", ROWS.slice(0, 1))],
  [
    "A table without headings of rows, in a card with other content",
    <div key="plain" class="card">
      <DataTable label="Plain" rows={ROWS.slice(0, 2)} columns={PLAIN} keyOf={({ name }) => name} />
    </div>,
  ],
  [
    "Names and values",
    <>
      <div class="card">
        <Pairs
          pairs={[
            ["Now", absolute(NOW)],
            ["Last report", <Moment key="at" at={NOW - 61_000} />],
            ["What to do", <MarkedText key="todo" text="Run `node-shim status` there." />],
          ]}
        />
      </div>
    </>,
  ],
  [
    "A form",
    <>
      <div class="card stack">
        <div class="row fields">
          <Field label="Name" hint="Lower case letters." value="edge-*" onChange={none} />
          <Field label="Machines" fault="a whole number from 1" value="none" onChange={none} />
          <Choice label="Good for" value="1" choices={[["1", "1 hour"]]} onChange={none} />
        </div>
        <Check label="A choice that can be made" value onChange={none} />
      </div>
    </>,
  ],
  [
    "Checks",
    <>
      <ul class="checks">
        {["ok", "warning", "failed"].map((state) => (
          <li key={state} class="card">
            <h3>
              <span class={`check-${state}`}>{state}</span> Apiserver
            </h3>
            <p>It answers within 12 ms.</p>
          </li>
        ))}
      </ul>
    </>,
  ],
  [
    "A timeline",
    <>
      <div class="timeline card">
        <BandPatterns />
        <TimelineBoard window={TIMELINE} nowMs={NOW} isBusy={false}>
          <TimelineRows timeline={TIMELINE} onMark={none} />
          <BandLegend looks={new Set(["held"])} />
        </TimelineBoard>
      </div>
    </>,
  ],
];

const Kit = () => (
  <main>
    <div class="stack">
      <h1>Kit</h1>
      {PARTS.map(([title, part]) => (
        <section key={title} class="stack">
          <h2>{title}</h2>
          {part}
        </section>
      ))}
    </div>
  </main>
);

const root = document.querySelector("#kit");
if (root)
  render(
    <PageProvider value={openPage(window)}>
      <Kit />
    </PageProvider>,
    root,
  );
