import time


def culprit():
    time.sleep(0.0002)


def minor():
    time.sleep(0.0002)


for number in range(300):
    culprit()
    if number % 10 == 0:
        minor()
