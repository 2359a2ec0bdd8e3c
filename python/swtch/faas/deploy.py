"""The lines that make a package a function with an address: the same for every language, but for what its platform calls it there. Pure.

`deploy` of a manifest has for each platform:

- `lambda`: `handler`, `runtime`, `memory_mb`; `gcf`: `entry_point`, `runtime`, `memory_mb`, or `how` with `container` (a Dockerfile) and `memory_mb`;
- `knative`: `how`, which is `func` (a directory of `func`) or `image` (a Dockerfile and a service);
- `openfaas`: `template`, or `how` with `image` (a Dockerfile).

Sources: "Control access to Lambda function URLs" (both permissions since October 2025); `gcloud functions deploy` (the second generation
is what new functions are); `func deploy`; `faas-cli up` and `faas-cli deploy`. `experiments/serverless/deploy_lint.py` has the platforms' own tools look at them.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping

TEMPLATE = "template.yaml"
"""Of AWS's Serverless Application Model, in a directory for Lambda."""
_TIMEOUT_S = 60
_REGION = "us-central1"
_TRUST = '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"lambda.amazonaws.com"},"Action":"sts:AssumeRole"}]}'
_ARCHIVE = re.compile(r"\.(zip|tar|tar\.gz|tgz)$")


def lines(platform: str, of: Mapping[str, str], out: str, architecture: str) -> list[str]:
    """What to type after the package is at `out`, one command a line.

    of: the platform's `deploy`. architecture: as AWS calls it.
    """
    place, unpack = _directory(out)
    if platform == "lambda":
        return _by_sam(out) if place == out else _lambda(of, out, unpack, architecture)
    found = {"gcf": _gcf, "knative": _knative, "openfaas": _openfaas}[platform](of, shlex.quote(place))
    return [*unpack, *found]


def template(of: Mapping[str, str], architecture: str) -> str:
    """The template of a directory for Lambda, which `sam deploy` makes a function of, with its role and its address."""
    return f"""\
AWSTemplateFormatVersion: "2010-09-09"
Transform: AWS::Serverless-2016-10-31
Description: A function that measures itself (swtch)
Resources:
  Swtch:
    Type: AWS::Serverless::Function
    Properties:
      CodeUri: .
      Handler: {of["handler"]}
      Runtime: {of["runtime"]}
      Architectures: [{architecture}]
      MemorySize: {of["memory_mb"]}
      Timeout: {_TIMEOUT_S}
      FunctionUrlConfig:
        AuthType: AWS_IAM
Outputs:
  FunctionUrl:
    Description: For swtch faas tiers --invoke, with --sigv4
    Value: !GetAtt SwtchUrl.FunctionUrl
"""


def _directory(out: str) -> tuple[str, list[str]]:
    """Where the files are, and what unpacks them there."""
    found = _ARCHIVE.search(out)
    if found is None:
        return out, []
    place = out[: found.start()]
    to, archive = shlex.quote(place), shlex.quote(out)
    command = (
        f"unzip -q {archive} -d {to}" if found[1] == "zip" else f"mkdir {to} && tar -xf {archive} -C {to}"
    )
    return place, [command]


def _by_sam(out: str) -> list[str]:
    place = shlex.quote(f"{out.rstrip('/')}/{TEMPLATE}")
    return [
        f"sam deploy --template-file {place} --stack-name swtch --resolve-s3 --capabilities CAPABILITY_IAM",
        "swtch faas tiers --invoke FUNCTION_URL --sigv4",
    ]


def _lambda(of: Mapping[str, str], out: str, unpack: list[str], architecture: str) -> list[str]:
    if not out.endswith(".zip"):
        place = shlex.quote(_directory(out)[0])
        unpack = [*unpack, f"(cd {place} && zip -qr ../{place}.zip .)"]
        out = f"{_directory(out)[0]}.zip"
    else:
        unpack = []
    account = '"$(aws sts get-caller-identity --query Account --output text)"'
    return [
        *unpack,
        f"aws iam create-role --role-name swtch --assume-role-policy-document '{_TRUST}'",
        "aws iam wait role-exists --role-name swtch && sleep 10",
        f"aws lambda create-function --function-name swtch --zip-file fileb://{shlex.quote(out)} --handler {of['handler']} --runtime {of['runtime']} "
        f"--architectures {architecture} --memory-size {of['memory_mb']} --timeout {_TIMEOUT_S} "
        '--role "$(aws iam get-role --role-name swtch --query Role.Arn --output text)"',
        "aws lambda wait function-active-v2 --function-name swtch",
        f"aws lambda add-permission --function-name swtch --statement-id url --action lambda:InvokeFunctionUrl --principal {account} --function-url-auth-type AWS_IAM",
        f"aws lambda add-permission --function-name swtch --statement-id invoke --action lambda:InvokeFunction --principal {account} --invoked-via-function-url",
        "aws lambda create-function-url-config --function-name swtch --auth-type AWS_IAM --query FunctionUrl --output text",
        f"swtch faas tiers --invoke {of['memory_mb']}MB=FUNCTION_URL --sigv4",
    ]


def _gcf(of: Mapping[str, str], place: str) -> list[str]:
    last = f"swtch faas tiers --invoke {of['memory_mb']}MB=FUNCTION_URL --bearer-from 'gcloud auth print-identity-token'"
    if of.get("how") == "container":
        return [
            f"gcloud run deploy swtch --region {_REGION} --source {place} --no-allow-unauthenticated --memory {of['memory_mb']}Mi --timeout {_TIMEOUT_S}s",
            f"gcloud run services add-iam-policy-binding swtch --region {_REGION} --role roles/run.invoker "
            '--member "user:$(gcloud config get-value account)"',
            f"gcloud run services describe swtch --region {_REGION} --format 'value(status.url)'",
            last,
        ]
    return [
        f"gcloud functions deploy swtch --gen2 --region {_REGION} --source {place} --entry-point {of['entry_point']} --runtime {of['runtime']} "
        f"--trigger-http --no-allow-unauthenticated --memory {of['memory_mb']}Mi --timeout {_TIMEOUT_S}s",
        f'gcloud functions add-invoker-policy-binding swtch --region {_REGION} --member "user:$(gcloud config get-value account)"',
        f"gcloud functions describe swtch --gen2 --region {_REGION} --format 'value(serviceConfig.uri)'",
        last,
    ]


def _knative(of: Mapping[str, str], place: str) -> list[str]:
    if of["how"] == "func":
        found = [
            f'func deploy --path {place} --registry "$REGISTRY"',
            f"func describe --path {place} --output url",
        ]
    else:
        found = [
            _image(place),
            f'sed "s:IMAGE:$REGISTRY/swtch:" {place}/service.yaml | kubectl apply -f -',
            "kubectl get ksvc swtch --output 'jsonpath={.status.url}'",
        ]
    return [_registry(), *found, "swtch faas tiers --invoke FUNCTION_URL"]


def _openfaas(of: Mapping[str, str], place: str) -> list[str]:
    if of.get("how") == "image":
        found = [_image(place), 'faas-cli deploy --name swtch --image "$REGISTRY/swtch"']
    else:
        found = [f"cd {place} && faas-cli template store pull {of['template']} && faas-cli up -f stack.yaml"]
    return [
        _registry(),
        *found,
        "swtch faas tiers --invoke http://127.0.0.1:8080/function/swtch",
    ]


def _image(place: str) -> str:
    return f'docker build --push -t "$REGISTRY/swtch" {place}'


def _registry() -> str:
    """Of images: where its user may push, and the platform may pull."""
    return "export REGISTRY=docker.io/YOU"
