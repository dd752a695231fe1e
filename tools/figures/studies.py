"""Every study by its name."""

from tools.figures import paths, queues, response, schedulers, sharing, two_paths

STUDIES = {
    study.name: study
    for study in (
        response.RENO,
        response.CUBIC,
        *two_paths.STUDIES,
        two_paths.VARIANTS,
        sharing.SHARED,
        sharing.WVEGAS,
        schedulers.STUDY,
        paths.STUDY,
        queues.STUDY,
    )
}
