"""Asks what AWS publishes of its own formats whether a file has them: ecs FILE, ssm FILE, or imagebuilder FILE MODEL.

MODEL is lib/component.d.ts of the npm package @aws-cdk/aws-imagebuilder-alpha.
"""
import json
import re
import sys

import yaml


def ecs(name):
    """The service's API as botocore holds it: unknown members, types, what is required."""
    import botocore.session
    from botocore.validate import ParamValidator
    service = botocore.session.get_session().get_service_model("ecs")
    with open(name) as file:
        task = json.load(file)
    shape = service.operation_model("RegisterTaskDefinition").input_shape
    return [error for error in [ParamValidator().validate(task, shape).generate_report()] if error]


def ssm(name):
    """cfn-lint on a template that holds the document. It knows the versions of the form, not the steps."""
    import cfnlint.api
    with open(name) as file:
        content = yaml.safe_load(file)
    document = {"Type": "AWS::SSM::Document", "Properties": {"DocumentType": "Command", "Content": content}}
    matches = cfnlint.api.lint_all(json.dumps({"Resources": {"Document": document}}))
    return [match for match in matches if match.rule.id.startswith("E")]


class Model:
    """The interfaces and enumerations of a TypeScript declaration."""

    def __init__(self, text):
        text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
        blocks = re.findall(r"export (?:declare enum|interface) (\w+) \{\n(.*?)\n\}", text, flags=re.S)
        self.enums = {name: re.findall(r'= "(.*)"', body) for name, body in blocks if " = " in body}
        self.fields = {name: re.findall(r"^    readonly (\w+)(\??): (\w+)", body, flags=re.M) for name, body in blocks}

    def errors(self, value, kind, where):
        if kind in self.enums:
            return [] if value in self.enums[kind] else [f"{where}: {value!r} is none of {self.enums[kind]}"]
        fields = {name: (kind, optional) for name, optional, kind in self.fields.get(kind, [])}
        if not fields:
            return []
        found = [f"{where}: there is no {key!r}" for key in value if key not in fields]
        found += [f"{where}: {key!r} is missing" for key, (_, optional) in fields.items() if not optional and key not in value]
        for key in value.keys() & fields.keys():
            items = value[key] if isinstance(value[key], list) else [value[key]]
            for n, item in enumerate(items):
                found += self.errors(item, fields[key][0], f"{where}.{key}[{n}]")
        return found


def imagebuilder(name, model):
    """CDK's model of a component, which it writes with timeoutSeconds for timeout and parameters as a list."""
    with open(model) as file:
        known = Model(file.read())
    with open(name) as file:
        component = yaml.safe_load(file)
    component["schemaVersion"] = str(component["schemaVersion"])
    found = []
    for parameter in component.pop("parameters", []):
        for key, value in parameter.items():
            found += known.errors(value, "ComponentDocumentParameterDefinition", f"parameters.{key}")
    for phase in component["phases"]:
        for step in phase["steps"]:
            if "timeoutSeconds" in step:
                step["timeout"] = step.pop("timeoutSeconds")
    return found + known.errors(component, "ComponentDocument", "component")


if __name__ == "__main__":
    errors = {"ecs": ecs, "ssm": ssm, "imagebuilder": imagebuilder}[sys.argv[1]](*sys.argv[2:])
    for error in errors:
        print(error)
    sys.exit(bool(errors))
