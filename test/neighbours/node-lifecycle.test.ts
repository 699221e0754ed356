// Runs the experiments with the node controller of kube-controller-manager.
import { describeExperiments } from "./describe-experiment.ts";

describeExperiments(["cut-off", "dead-kubelet"]);
