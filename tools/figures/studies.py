"""Every study by its name."""

from tools.figures import (
    bbr,
    detection,
    dualpi2,
    paths,
    pert,
    queues,
    response,
    schedulers,
    sharing,
    short_flows,
    sparse,
    starved,
    two_paths,
)

STUDIES = {
    study.name: study
    for study in (
        response.RENO,
        response.CUBIC,
        *two_paths.STUDIES,
        two_paths.VARIANTS,
        sharing.SHARED,
        sharing.WVEGAS,
        pert.QUEUE,
        pert.SHARES,
        schedulers.STUDY,
        short_flows.STUDY,
        paths.STUDY,
        queues.STUDY,
        sparse.STUDY,
        detection.STUDY,
        starved.STUDY,
        dualpi2.STUDY,
        bbr.STUDY,
    )
}
