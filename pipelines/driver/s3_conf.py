"""The confs with which Hadoop reaches the S3 that the server reaches: its endpoint and its region, from the environment of both.

Credentials are no confs: Hadoop reads AWS_ACCESS_KEY_ID and its companions from the environment, too, and nothing keeps them.
"""

from __future__ import annotations

from collections.abc import Mapping

from pipelines.domain.job_places import ENDPOINT, ENDPOINT_VARIABLES, PATH_STYLE, REGION, REGION_VARIABLES, S3, first_of
from pipelines.domain.runs import RunSpec


def s3_conf(spec: RunSpec, environment: Mapping[str, str]) -> dict[str, str]:
    """Nothing for a job whose bytes lie elsewhere than in S3; what the version's confs say stays."""
    if not spec.checkpoints.startswith(S3):
        return {}
    endpoint = first_of(environment, ENDPOINT_VARIABLES)
    ours = {ENDPOINT: endpoint, REGION: first_of(environment, REGION_VARIABLES), PATH_STYLE: "true" if endpoint else ""}
    return {key: value for key, value in ours.items() if value and key not in spec.conf}
