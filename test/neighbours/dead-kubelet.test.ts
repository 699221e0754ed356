// Runs the experiment in which one kubelet dies next to silent Nodes of ours.
import { describeExperiments } from "./describe-experiment.ts";

describeExperiments(["dead-kubelet"]);
