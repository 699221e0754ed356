// Prints the features and labels that node-feature-discovery's worker finds below a folder, "/" for this machine, as
// JSON.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/node-feature-discovery/pkg/utils/hostpath"
	"sigs.k8s.io/node-feature-discovery/source"
	_ "sigs.k8s.io/node-feature-discovery/source/cpu"
	_ "sigs.k8s.io/node-feature-discovery/source/kernel"
	_ "sigs.k8s.io/node-feature-discovery/source/local"
	_ "sigs.k8s.io/node-feature-discovery/source/memory"
	_ "sigs.k8s.io/node-feature-discovery/source/network"
	_ "sigs.k8s.io/node-feature-discovery/source/pci"
	_ "sigs.k8s.io/node-feature-discovery/source/storage"
	_ "sigs.k8s.io/node-feature-discovery/source/system"
	_ "sigs.k8s.io/node-feature-discovery/source/usb"
)

func main() {
	below := func(name string) hostpath.HostDir { return hostpath.HostDir(filepath.Join(os.Args[1], name)) }
	hostpath.BootDir = below("boot")
	hostpath.EtcDir = below("etc")
	hostpath.SysfsDir = below("sys")
	hostpath.UsrDir = below("usr")
	hostpath.VarDir = below("var")
	hostpath.LibDir = below("lib")
	hostpath.ProcDir = below("proc")
	for _, configurable := range source.GetAllConfigurableSources() {
		configurable.SetConfig(configurable.NewConfig())
	}
	failures := map[string]string{}
	for name, each := range source.GetAllFeatureSources() {
		if err := each.Discover(); err != nil {
			failures[name] = err.Error()
		}
	}
	labels := map[string]string{}
	for name, each := range source.GetAllLabelSources() {
		found, err := each.GetLabels()
		if err != nil {
			failures[name] = err.Error()
		}
		for key, value := range found {
			if name != "local" {
				key = name + "-" + key
			}
			labels["feature.node.kubernetes.io/"+key] = fmt.Sprint(value)
		}
	}
	result := map[string]any{"features": source.GetAllFeatures(), "labels": labels, "failures": failures}
	if err := json.NewEncoder(os.Stdout).Encode(result); err != nil {
		panic(err)
	}
}
