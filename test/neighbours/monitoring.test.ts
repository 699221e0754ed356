// Runs the experiments with kube-state-metrics, kube-prometheus' rules and metrics-server.
import { describeExperiments } from "./describe-experiment.ts";

describeExperiments(["rules", "metrics-server"]);
