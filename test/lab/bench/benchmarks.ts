// Lists all benchmarks, in the order of their table.
import { annotatedNodes } from "./annotated-nodes.ts";
import { apiserverLeases } from "./apiserver-leases.ts";
import { apiserverStatus } from "./apiserver-status.ts";
import type { Benchmark } from "./benchmark.ts";
import { bundleSize } from "./bundle-size.ts";
import { costs } from "./cost/costs.ts";
import { decisionChanged } from "./decision-changed.ts";
import { decisionUnchanged } from "./decision-unchanged.ts";
import { enrolmentBenchmarks } from "./enrolment.ts";
import { fleetEnrol, fleetRestarts } from "./fleet.ts";
import { fleetIndexCosts } from "./fleet-index.ts";
import { heartbeatCosts } from "./heartbeat-rows.ts";
import { heartbeatBytes } from "./heartbeat-bytes.ts";
import { heartbeatRates } from "./heartbeat-rate.ts";
import { metricsScrapes } from "./metrics-scrape.ts";
import { nodeWatches } from "./node-watch.ts";
import { pageCosts } from "./page.ts";
import { pageFirstLoad } from "./page-first-load.ts";
import { patchCreation } from "./patch-creation.ts";
import { questionBeats } from "./question-beats.ts";
import { quantityParse } from "./quantity-parse.ts";
import { shimFirstReports } from "./shim-first-report.ts";
import { shimGathering } from "./shim-gathering.ts";
import { shimWeights } from "./shim-weight.ts";
import { steadyFleet } from "./steady-fleet.ts";
import { socketCosts } from "./socket-cost.ts";
import { socketPace } from "./socket-pace.ts";
import { socketRates } from "./socket-rate.ts";
import { socketSilence } from "./silence.ts";
import { starts } from "./start-time.ts";

export const benchmarks: readonly Benchmark[] = [
  decisionUnchanged,
  decisionChanged,
  patchCreation,
  quantityParse,
  heartbeatBytes,
  bundleSize,
  pageFirstLoad,
  ...pageCosts,
  apiserverLeases,
  apiserverStatus,
  ...heartbeatCosts,
  ...socketCosts,
  socketSilence,
  ...questionBeats,
  ...costs,
  ...nodeWatches,
  ...annotatedNodes,
  ...metricsScrapes,
  ...heartbeatRates,
  ...socketRates,
  socketPace,
  ...enrolmentBenchmarks,
  ...starts,
  ...shimGathering,
  ...shimFirstReports,
  ...shimWeights,
  ...fleetIndexCosts,
  ...steadyFleet,
  fleetEnrol,
  ...fleetRestarts,
];
