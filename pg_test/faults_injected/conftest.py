"""The marker of tests that need a build with injected faults."""


def pytest_configure(config):
    config.addinivalue_line("markers", "injected: needs a build with the feature fault_injection")
