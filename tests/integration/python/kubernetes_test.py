"""deploy/kubernetes: what kustomize makes of it is what Kubernetes takes, keeps our own rules, and fits the gateway
that it configures."""
import copy
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import urllib.request
from pathlib import Path

import kubernetes_validate
import yaml

from stdgate_process import PATIENCE, PROGRAM, Stdgate

DEPLOY = Path(__file__).resolve().parents[3] / "deploy"
KUSTOMIZATIONS = ["standalone", "sidecar", "wrapped"]
# The oldest version with all used features, and the newest version with known schemas.
VERSIONS = ["1.30", "1.37"]
# The folder of the configuration and of the files that it names, in all deployments.
CONFIG_FOLDER = "/etc/stdgate/"
UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600}


def run(*command, **arguments):
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE, **arguments)


def rendered(name):
    if not shutil.which("kubectl"):
        raise AssertionError("no kubectl: deploy/packages test installs it where apt has it (kubernetes-client)")
    made = run("kubectl", "kustomize", str(DEPLOY / "kubernetes" / name))
    if made.returncode != 0:
        raise AssertionError(made.stderr)
    return [document for document in yaml.safe_load_all(made.stdout) if document]


def seconds(duration):
    return sum(float(number) * UNITS[unit] for number, unit in re.findall(r"([\d.]+)(ms|s|m|h)", str(duration)))


def of_kind(documents, kind):
    return [document for document in documents if document["kind"] == kind]


def pods(documents):
    return [document["spec"]["template"] for document in documents
            if document["kind"] in ("Deployment", "StatefulSet")]


def containers(pod):
    return pod["spec"].get("initContainers", []) + pod["spec"]["containers"]


def serves(container):
    """Whether it runs a gateway."""
    return "--config" in container.get("command", []) + container.get("args", [])


def checked(text, folder):
    """The configuration with every default, as stdgate prints it; secrets lie in `folder`."""
    path = Path(folder, "gateway.yaml")
    path.write_text(text.replace(CONFIG_FOLDER, f"{folder}/"), encoding="utf-8")
    Path(folder, "clients.keys").write_text(f"sha256:{'0' * 64}\n", encoding="utf-8")
    said = run(PROGRAM, "check", "--config", str(path), env=os.environ | {"HOSTNAME": "gate-0"})
    return yaml.safe_load(said.stdout) if said.returncode == 0 else said.stderr


# --- our rules: each yields its findings as sentences --------------------------------------------

def confinement(documents):
    for pod in pods(documents):
        of_pod = pod["spec"].get("securityContext", {})
        for key in ("hostNetwork", "hostPID", "hostIPC"):
            if pod["spec"].get(key):
                yield f"{key} is set"
        for volume in pod["spec"].get("volumes", []):
            if "hostPath" in volume:
                yield f"volume {volume['name']} is of the host"
        if pod["spec"].get("automountServiceAccountToken") is not False:
            yield "the pod gets a token of the cluster"
        for container in containers(pod):
            context = of_pod | container.get("securityContext", {})
            wanted = {"runAsNonRoot": True, "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
                      "capabilities": {"drop": ["ALL"]}, "seccompProfile": {"type": "RuntimeDefault"}}
            for key, value in wanted.items():
                if context.get(key) != value:
                    yield f"{container['name']}: {key} is {context.get(key)}"
            if not context.get("runAsUser") or context.get("privileged"):
                yield f"{container['name']}: runs as root"


def resources(documents):
    for pod in pods(documents):
        for container in containers(pod):
            given = container.get("resources", {})
            for part, name in (("requests", "cpu"), ("requests", "memory"), ("limits", "memory")):
                if name not in given.get(part, {}):
                    yield f"{container['name']}: no {part} of {name}"


def secrets(documents):
    for pod in pods(documents):
        for container in containers(pod):
            if any("secretKeyRef" in entry.get("valueFrom", {}) for entry in container.get("env", [])):
                yield f"{container['name']}: a secret in the environment"
        for volume in pod["spec"].get("volumes", []):
            projected = volume.get("projected", {})
            holder = projected if any("secret" in source for source in projected.get("sources", [])) else \
                volume.get("secret")
            if holder and holder.get("defaultMode", 0o644) & 0o007:
                yield f"{volume['name']}: every user can read the secret"


def configuration_of(documents, pod, container):
    """The text of the configuration that a gateway reads, by way of its mount and the ConfigMap."""
    words = container.get("command", []) + container.get("args", [])
    path = words[words.index("--config") + 1]
    for mount in container["volumeMounts"]:
        if mount["mountPath"] != os.path.dirname(path) or "subPath" in mount:
            continue
        volume = next(volume for volume in pod["spec"]["volumes"] if volume["name"] == mount["name"])
        sources = volume["projected"]["sources"] if "projected" in volume else [volume]
        names = [source["configMap"]["name"] for source in sources if "configMap" in source]
        for config_map in of_kind(documents, "ConfigMap"):
            if config_map["metadata"]["name"] in names:
                return config_map["data"].get(os.path.basename(path))
    return None


def gateways(documents):
    """Pod, container and resolved configuration of each gateway; a sentence for a configuration that is refused."""
    with tempfile.TemporaryDirectory() as folder:
        for pod in pods(documents):
            for container in filter(serves, containers(pod)):
                text = configuration_of(documents, pod, container)
                yield pod, container, text and checked(text, folder)


def configurations(documents):
    found = list(gateways(documents))
    if not found:
        yield "no gateway"
    for _, container, config in found:
        if not isinstance(config, dict):
            yield f"{container['name']}: {config or 'its --config is in no ConfigMap that is mounted as a folder'}"


def reloading(documents):
    for pod, container, config in gateways(documents):
        if isinstance(config, dict) and not config.get("watch"):
            yield f"{container['name']}: a changed ConfigMap is not taken over"


def images(documents):
    for pod in pods(documents):
        for container in containers(pod):
            tag = container["image"].rpartition("/")[2].partition(":")[2]
            if tag in ("", "latest"):
                yield f"{container['name']}: the image {container['image']} may be another one tomorrow"


def pre_stop(container):
    return container.get("lifecycle", {}).get("preStop", {}).get("sleep", {}).get("seconds", 0)


def stopping(documents):
    for pod, container, config in gateways(documents):
        if not isinstance(config, dict):
            continue
        grace = max(seconds(backend["pool"]["grace"]) for backend in config["backends"].values())
        needed = pre_stop(container) + seconds(config["timeouts"]["drain"]) + 2 * grace
        if pod["spec"].get("terminationGracePeriodSeconds", 30) < needed:
            yield f"{container['name']}: needs {needed} s to end"
        is_reached = any("127.0.0.1" not in str(listener) for listener in config["listen"])
        if is_reached and pre_stop(container) < 1:
            yield f"{container['name']}: ends before clients have heard of it"


def port_of(container, name):
    return next((port["containerPort"] for port in container.get("ports", []) if name in (port["name"],
                port["containerPort"])), None)


def probes(documents):
    for _, container, config in gateways(documents):
        for kind, paths in (("startupProbe", ("/healthz", "/readyz")), ("livenessProbe", ("/healthz",)),
                            ("readinessProbe", ("/readyz",))):
            request = container.get(kind, {}).get("httpGet", {})
            if request.get("path") not in paths:
                yield f"{container['name']}: {kind} asks for {request.get('path')}"
            if isinstance(config, dict) and not str(config["admin"]).endswith(
                    f"0.0.0.0:{port_of(container, request.get('port'))}"):
                yield f"{container['name']}: {kind} does not reach the admin address {config['admin']}"


def services(documents):
    for service in of_kind(documents, "Service"):
        name = service["metadata"]["name"]
        chosen = [pod for pod in pods(documents)
                  if service["spec"]["selector"].items() <= pod["metadata"]["labels"].items()]
        if not chosen:
            yield f"Service {name} has no pods"
        for pod, container, config in gateways(documents):
            if pod not in chosen or not isinstance(config, dict):
                continue
            if name not in config["allowed_hosts"]:
                yield f"Service {name}: the gateway refuses this host name"
            port = port_of(container, service["spec"]["ports"][0]["targetPort"])
            if not any(f"0.0.0.0:{port}" in str(listener) for listener in config["listen"]):
                yield f"Service {name}: the gateway does not listen there"


def selectors(documents):
    labels = [pod["metadata"]["labels"] for pod in pods(documents)]
    for document in documents:
        spec = document.get("spec", {})
        wanted = (spec.get("podSelector") or spec.get("selector") or {}).get("matchLabels")
        if wanted and not any(wanted.items() <= of_pod.items() for of_pod in labels):
            yield f"{document['kind']} {document['metadata']['name']} has no pods"
        target = spec.get("scaleTargetRef")
        if target and not any(target["name"] == scaled["metadata"]["name"]
                              for scaled in of_kind(documents, target["kind"])):
            yield f"{target['name']} is not there to be scaled"


RULES = [confinement, resources, images, secrets, configurations, stopping, probes, reloading, services, selectors]


def complaints(documents):
    return [complaint for rule in RULES for complaint in rule(documents)]


def gateway_of(documents):
    """Pod and container of the gateway, to be changed."""
    return next((pod, container) for pod in pods(documents) for container in containers(pod) if serves(container))


def replace_in_configuration(documents, old, new):
    for config_map in of_kind(documents, "ConfigMap"):
        if "gateway.yaml" in config_map["data"]:
            config_map["data"]["gateway.yaml"] = config_map["data"]["gateway.yaml"].replace(old, new)


def spoil(*path, value):
    """Changes the gateway's container: sets, or with value None removes, what is at `path`."""
    def change(documents):
        at = gateway_of(documents)[1]
        for key in path[:-1]:
            at = at[key]
        if value is None:
            del at[path[-1]]
        else:
            at[path[-1]] = value
    return change


def spoil_pod(key, value):
    return lambda documents: gateway_of(documents)[0]["spec"].update({key: value})


# Changes of deploy/kubernetes/standalone, and the finding that each must cause.
MISTAKES = [
    (spoil("securityContext", "readOnlyRootFilesystem", value=None), "readOnlyRootFilesystem is None"),
    (spoil("securityContext", "allowPrivilegeEscalation", value=True), "allowPrivilegeEscalation is True"),
    (spoil("securityContext", "capabilities", value={"drop": ["ALL"], "add": ["SYS_ADMIN"]}), "capabilities is"),
    (spoil("securityContext", "runAsUser", value=0), "runs as root"),
    (spoil("securityContext", "runAsNonRoot", value=False), "runAsNonRoot is False"),
    (spoil("image", value="example.com:5000/stdgate"), "may be another one tomorrow"),
    (spoil("image", value="example.com/stdgate:latest"), "may be another one tomorrow"),
    (spoil("resources", "limits", value=None), "no limits of memory"),
    (spoil("env", value=[{"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "a", "key": "b"}}}]),
     "a secret in the environment"),
    (spoil("args", value=["--config", "/etc/elsewhere/gateway.yaml"]), "is in no ConfigMap"),
    (spoil("livenessProbe", "httpGet", "path", value="/readyz"), "livenessProbe asks for /readyz"),
    (spoil("readinessProbe", "httpGet", "port", value="http"), "readinessProbe does not reach the admin address"),
    (spoil("lifecycle", value=None), "ends before clients have heard of it"),
    (spoil("lifecycle", "preStop", "sleep", "seconds", value=17), "needs 41.0 s to end"),
    (spoil_pod("terminationGracePeriodSeconds", 28), "needs 29.0 s to end"),
    (spoil_pod("hostNetwork", True), "hostNetwork is set"),
    (spoil_pod("volumes", [{"name": "config", "hostPath": {"path": "/"}}]), "is of the host"),
    (lambda documents: replace_in_configuration(documents, "drain: 20s", "drain: 32s"), "needs 41.0 s to end"),
    (lambda documents: replace_in_configuration(documents, "watch: true", ""), "a changed ConfigMap is not taken over"),
    (lambda documents: replace_in_configuration(documents, '"stdgate"', '"other"'), "refuses this host name"),
    (lambda documents: replace_in_configuration(documents, "0.0.0.0:8080", "0.0.0.0:8081"), "does not listen there"),
    (lambda documents: replace_in_configuration(documents, "backends:", "backend:"), "backend"),
    (lambda documents: of_kind(documents, "Service")[0]["spec"].update(selector={"a": "b"}), "has no pods"),
    (lambda documents: of_kind(documents, "NetworkPolicy")[0]["spec"].update(podSelector={"matchLabels": {"a": "b"}}),
     "NetworkPolicy stdgate has no pods"),
    (lambda documents: of_kind(documents, "HorizontalPodAutoscaler")[0]["spec"]["scaleTargetRef"].update(name="a"),
     "a is not there to be scaled"),
]


class Kubernetes(unittest.IsolatedAsyncioTestCase):
    @classmethod
    def setUpClass(cls):
        cls.documents = {name: rendered(name) for name in KUSTOMIZATIONS}
        replicas = (DEPLOY / "examples/kubernetes-replicas.yaml").read_text(encoding="utf-8")
        cls.replicas = list(yaml.safe_load_all(replicas))

    def test_all_are_rendered(self):
        folders = {path.parent.name for path in (DEPLOY / "kubernetes").glob("*/kustomization.yaml")}
        self.assertEqual(folders, set(KUSTOMIZATIONS))
        kinds = {document["kind"] for document in self.documents["standalone"]}
        self.assertEqual(kinds, {"ConfigMap", "Deployment", "Service", "PodDisruptionBudget",
                                 "HorizontalPodAutoscaler", "NetworkPolicy"})

    def test_the_api_knows_every_key(self):
        for name, documents in (self.documents | {"replicas": self.replicas}).items():
            for document in documents:
                for version in VERSIONS:
                    with self.subTest(name=name, kind=document["kind"], version=version):
                        kubernetes_validate.validate(document, version, strict=True)

    def test_an_unknown_key_is_found(self):
        wrong = copy.deepcopy(self.documents["sidecar"])
        gateway_of(wrong)[1]["readynessProbe"] = {}
        with self.assertRaises(kubernetes_validate.ValidationError):
            for document in wrong:
                kubernetes_validate.validate(document, VERSIONS[-1], strict=True)

    def test_our_rules_hold(self):
        for name, documents in self.documents.items():
            with self.subTest(name=name):
                self.assertEqual(complaints(documents), [])

    def test_our_rules_find_mistakes(self):
        for change, wanted in MISTAKES:
            with self.subTest(wanted=wanted):
                wrong = copy.deepcopy(self.documents["standalone"])
                change(wrong)
                self.assertIn(wanted, "\n".join(complaints(wrong)))

    def test_a_secret_that_all_can_read_is_found(self):
        wrong = copy.deepcopy(self.documents["standalone"])
        for volume in gateway_of(wrong)[0]["spec"]["volumes"]:
            if "projected" in volume:
                volume["projected"]["defaultMode"] = 0o444
        self.assertEqual(complaints(wrong), ["config: every user can read the secret"])

    def test_the_sidecar_is_one(self):
        _, container = gateway_of(self.documents["sidecar"])
        self.assertEqual(container["restartPolicy"], "Always")

    def test_the_wrapped_command_is_what_is_installed(self):
        pod, container = gateway_of(self.documents["wrapped"])
        install = pod["spec"]["initContainers"][0]
        self.assertEqual(install["args"][0], "install-to")
        shared = [mount["mountPath"] for mount in install["volumeMounts"]]
        self.assertEqual(shared, [install["args"][1]])
        self.assertEqual(container["command"][0], f"{install['args'][1]}/stdgate")
        with tempfile.TemporaryDirectory() as folder:
            self.assertEqual(run(PROGRAM, "install-to", folder).returncode, 0)
            self.assertIn(Path(container["command"][0]).name, os.listdir(folder))

    async def test_each_configuration_serves(self):
        for name, documents in self.documents.items():
            with self.subTest(name=name):
                pod, container = gateway_of(documents)
                await self.serve(configuration_of(documents, pod, container), documents, container)

    async def serve(self, text, documents, container):
        # A log in text format announces the addresses.
        text = text.replace(CONFIG_FOLDER, "@DIR@/").replace("format: json", "format: text")
        gate = Stdgate.configured(text)
        gate.words += ["--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"]
        key, hashed = re.findall(r"(?m)^(?:key|hash) (\S+)$", run(PROGRAM, "hash-key", "--new").stdout)
        Path(gate.folder, "clients.keys").write_text(f"{hashed}\n", encoding="utf-8")
        server = Path(gate.folder, "mcp-server-filesystem")
        server.write_text(f"#!/bin/sh\nexec {sys.executable} {Path(__file__).with_name('echo_server.py')}\n",
                          encoding="utf-8")
        server.chmod(0o755)
        await gate.start(PATH=f"{gate.folder}:{os.environ['PATH']}")
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                "params": {"name": "echo", "arguments": {"message": "from a pod"}}}
        request = urllib.request.Request(
            f"http://127.0.0.1:{gate.port}/rpc", json.dumps(call).encode(),
            {"Content-Type": "application/json", "Authorization": f"Bearer {key}"})
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            self.assertIn("from a pod", answer.read().decode())
        admin = f"http://127.0.0.1:{gate.admin}"
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            with urllib.request.urlopen(admin + container[probe]["httpGet"]["path"], timeout=PATIENCE) as answer:
                self.assertEqual(answer.status, 200)
        with urllib.request.urlopen(f"{admin}/metrics", timeout=PATIENCE) as answer:
            metrics = answer.read().decode()
        for scaler in of_kind(documents, "HorizontalPodAutoscaler"):
            name = scaler["spec"]["metrics"][0]["pods"]["metric"]["name"]
            self.assertRegex(metrics, rf"(?m)^{name}\{{")
        self.assertEqual(await gate.stop(), (0, {}))


if __name__ == "__main__":
    unittest.main()
