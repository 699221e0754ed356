// Runs the experiment in which all kubelets lose the control plane.
import { describeExperiments } from "./describe-experiment.ts";

describeExperiments(["cut-off"]);
