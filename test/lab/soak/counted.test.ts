// Tests the gateways' counters in a scrape, and their difference from the previous scrape.
import { expect, test } from "vitest";
import { countedIn, countedText } from "./counted.ts";

const scrape = (renewed: number, failed: number) => `# TYPE rollcall_gateway_renewals_total counter
rollcall_gateway_renewals_total{gateway="1",outcome="renewed"} ${renewed} 1700000000
rollcall_gateway_renewals_total{gateway="2",outcome="renewed"} 5
rollcall_gateway_renewals_total{gateway="2",outcome="failed"} ${failed}
rollcall_gateway_request_duration_seconds_bucket{gateway="2",verb="PUT",code="none",le="1"} 7
rollcall_gateway_request_duration_seconds_count{gateway="2",verb="PUT",code="none"} ${failed}
rollcall_gateway_request_duration_seconds_sum{gateway="2",verb="PUT",code="none"} ${failed / 4}
rollcall_gateway_again_total{gateway="1",reason="over"} 4
rollcall_nodes{phase="ready"} 3
`;

test.each([
  [
    "none before",
    "",
    scrape(10, 4),
    "renewals renewed 15, renewals failed 4, PUTs answered none 4, seconds of all PUT 1, told to report, as over 4",
  ],
  [
    "some more",
    scrape(10, 0),
    scrape(30, 4),
    "renewals renewed 20, renewals failed 4, PUTs answered none 4, seconds of all PUT 1",
  ],
  ["nothing more", scrape(1, 1), scrape(1, 1), ""],
])("%s", (_, before, now, text) => {
  expect(countedText(countedIn(before), countedIn(now))).toBe(text);
});
