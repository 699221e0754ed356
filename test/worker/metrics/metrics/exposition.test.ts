// Tests metrics as text, word by word, in both formats.
import { describe, expect, it, test } from "vitest";
import {
  DURATION_BUCKETS,
  exposition,
  formatFor,
  type Measured,
} from "../../../../worker/metrics/metrics.ts";

const MEASURED: Measured[] = [
  {
    rollcall_build_info: [{ labels: { version: "0.1.0" }, value: 1 }],
    rollcall_machines: [{ labels: { state: "ready" }, value: 2 }],
    rollcall_machine_state: 'rollcall_machine_state{machine="a",state="ready"} 1\n',
    rollcall_condition_transitions_total: [
      { labels: { condition: "Ready", status: "False" }, value: 3, sinceMs: 1_500 },
    ],
    rollcall_clock_skew_seconds: [],
  },
  { rollcall_machines: [{ labels: { state: "pending" }, value: 1 }] },
];

describe("a text", () => {
  it("of OpenMetrics → each family once, from all sources; the start of each counter; the end mark", () => {
    expect(exposition(MEASURED, "openMetrics")).toBe(`# TYPE rollcall_build info
# HELP rollcall_build 1, with the Worker's version and its deployment as labels.
rollcall_build_info{version="0.1.0"} 1
# TYPE rollcall_machines gauge
# HELP rollcall_machines The number of machines in each state. Machines with the state pending wait for an approval; a machine in maintenance has only the state maintenance.
rollcall_machines{state="ready"} 2
rollcall_machines{state="pending"} 1
# TYPE rollcall_machine_state gauge
# HELP rollcall_machine_state 1 for the machine's present state; maintenance during maintenance.
rollcall_machine_state{machine="a",state="ready"} 1
# TYPE rollcall_clock_skew_seconds gauge
# HELP rollcall_clock_skew_seconds The lead of the machine's clock, negative if the clock is behind. Absent below one minute.
# TYPE rollcall_condition_transitions counter
# HELP rollcall_condition_transitions The number of changes of Nodes' conditions to this status.
rollcall_condition_transitions_total{condition="Ready",status="False"} 3
rollcall_condition_transitions_created{condition="Ready",status="False"} 1.5
# EOF
`);
  });

  it("of Prometheus' own format → unchanged names, no end mark, nothing that is unknown to it", () => {
    const text = exposition(MEASURED, "plain");
    expect(text).toContain("# TYPE rollcall_build_info gauge\n");
    expect(text).toContain("# TYPE rollcall_condition_transitions_total counter\n");
    expect(text).not.toMatch(/_created|# EOF| info\n/);
  });

  it("of no source → only the end mark", () => {
    expect(exposition([{}], "openMetrics")).toBe("# EOF\n");
  });

  it("a label's value is escaped", () => {
    const labels = { condition: 'a"b\\c\nd', status: "True" };
    expect(exposition([{ rollcall_condition_transitions_total: [{ labels, value: 0 }] }], "plain")).toContain(
      '{condition="a\\"b\\\\c\\nd",status="True"} 0\n',
    );
  });

  it("a histogram → cumulative buckets, sum and count", () => {
    const counts = [...DURATION_BUCKETS, 0].map((_, index) => (index < 2 ? 1 : 0));
    counts[DURATION_BUCKETS.length] = 1;
    const labels = { verb: "GET", code: "200" };
    const text = exposition(
      [
        {
          rollcall_apiserver_request_duration_seconds: [
            { labels, value: { counts, sum: 31.5 }, sinceMs: 9000 },
          ],
        },
      ],
      "openMetrics",
    );
    expect(text.split("\n").slice(2, -2)).toEqual([
      ...["0.005", "0.025", "0.1", "0.25", "0.5", "1.0", "2.5", "5.0", "10.0", "20.0", "+Inf"].map(
        (le, index) =>
          `rollcall_apiserver_request_duration_seconds_bucket{verb="GET",code="200",le="${le}"} ${
            index === 0 ? 1 : index < 10 ? 2 : 3
          }`,
      ),
      'rollcall_apiserver_request_duration_seconds_sum{verb="GET",code="200"} 31.5',
      'rollcall_apiserver_request_duration_seconds_count{verb="GET",code="200"} 3',
      'rollcall_apiserver_request_duration_seconds_created{verb="GET",code="200"} 9',
    ]);
  });
});

test.each<[accept: string | undefined, format: string]>([
  [undefined, "openMetrics"],
  ["*/*", "openMetrics"],
  ["application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1", "openMetrics"],
  ["text/plain", "plain"],
  ["text/plain;version=0.0.4;q=1,*/*;q=0.1", "plain"],
  ["text/*", "plain"],
])("who accepts %s → %s", (accept, format) => {
  expect(formatFor(accept)).toBe(format);
});
